"""Projects of rating tools: what they show, and what raters answered there."""

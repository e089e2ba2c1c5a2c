"""Projects for other rating tools, and raters' answers from them."""

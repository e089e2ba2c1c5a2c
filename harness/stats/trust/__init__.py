"""Selection of verdicts that people need not check, with a bounded error."""

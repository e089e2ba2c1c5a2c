"""Running of judges: prompts, judges, parsing, execution and storage."""

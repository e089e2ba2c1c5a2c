"""Running judges: prompts, judges, parsing, execution and storage."""

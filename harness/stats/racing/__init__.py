"""Racing judges: asking those that may still be best, until the answer is known."""

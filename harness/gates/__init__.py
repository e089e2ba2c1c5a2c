"""Requirements that a finished run must meet, and their reports."""

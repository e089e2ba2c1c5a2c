"""Re-validation: ask the judges of a finished run again, and tell drift from their own noise."""

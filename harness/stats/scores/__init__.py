"""Judges that give a number per item in place of an option."""

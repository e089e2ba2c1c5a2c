"""Which verdicts can stand without a person, at a bounded error."""

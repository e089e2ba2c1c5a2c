"""Features that an ordinary run does not import."""

"""Response sets behind forced choices: translation, beta, bounds."""

"""What an ordinary run never enters."""

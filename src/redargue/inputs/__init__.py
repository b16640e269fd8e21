"""Claims, label sets and rows read from users' files."""

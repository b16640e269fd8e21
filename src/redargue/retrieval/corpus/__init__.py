"""User-supplied documents: read from files, split into chunks, searched without a network."""

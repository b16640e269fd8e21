"""Documents that a user gives: read from files, cut into chunks, searched without a network."""

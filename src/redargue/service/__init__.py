"""The HTTP service: checks over run folders, and the application that serves them."""

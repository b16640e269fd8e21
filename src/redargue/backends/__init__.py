"""What performs tasks: the Backend interface, scripted and recorded backends."""

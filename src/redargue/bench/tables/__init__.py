"""Published tables by command: a paper's figures beside ours, as data."""

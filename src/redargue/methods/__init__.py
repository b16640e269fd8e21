"""How a verdict is reached: one file a published method."""

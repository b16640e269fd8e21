"""Who performs tasks."""

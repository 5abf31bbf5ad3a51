"""What can be said of physics and data before any training."""

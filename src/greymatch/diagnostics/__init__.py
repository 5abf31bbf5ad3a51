"""Do error bars hold what they say? Statistics of draws and truths, and what they mean in words."""

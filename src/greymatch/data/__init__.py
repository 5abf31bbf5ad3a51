"""Observations: trajectories, input signals, readers, windows and scales."""

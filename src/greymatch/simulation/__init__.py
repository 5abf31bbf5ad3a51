"""Solving: forecasts with per-member status, and accurate simulation of known equations."""

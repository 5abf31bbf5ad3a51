"""Paths through observations, and the simulation-free objective that matches the model to them."""

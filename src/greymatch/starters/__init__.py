"""Starter files for a new physics."""

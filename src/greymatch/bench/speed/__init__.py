"""How fast it is: ratios to plain loops, measured in turns in one process. The plain loops are in `reference_*.py`."""

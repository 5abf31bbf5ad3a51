"""fit: sampling, optimisation, validation, checkpoints, progress and tracking."""

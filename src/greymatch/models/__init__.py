"""The model: encoder, residual field, their composition with the physics, and the model file."""

"""Weather: fields on the sphere, from archives or from a simulated atmosphere."""

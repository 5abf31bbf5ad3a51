"""A simulated atmosphere: a dynamical core, forced so that season, hour, land and mountains matter."""

"""How archives lie on disk: WeatherBench 1 and 2, one module each with the same functions."""

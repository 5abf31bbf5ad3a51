"""One page about weather models: scores, maps, winds and spectra."""

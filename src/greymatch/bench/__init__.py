"""Benchmarks: one run is one small result file; tables are made of those files."""

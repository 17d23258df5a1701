"""Compiled kernels: views over numpy state, no public names."""

"""Gaussian processes on a grid of amounts."""

from knapsolve.processes.grid import GridProcess, make_grid_process
from knapsolve.processes.likelihood import fit_hyperparameters
from knapsolve.processes.posterior import posterior_at, posterior_sums

__all__ = ["GridProcess", "fit_hyperparameters", "make_grid_process", "posterior_at", "posterior_sums"]

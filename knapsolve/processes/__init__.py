"""Gaussian processes on a grid of amounts."""

from knapsolve.processes.grid import GridProcess, make_grid_process
from knapsolve.processes.likelihood import fit_hyperparameters

__all__ = ["GridProcess", "fit_hyperparameters", "make_grid_process"]

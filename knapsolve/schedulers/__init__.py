"""Schedulers: amounts in, next poll out."""

from knapsolve.schedulers.edf import EDFScheduler
from knapsolve.schedulers.random import RandomScheduler

__all__ = ["EDFScheduler", "RandomScheduler"]

"""Schedulers: amounts in, next poll out."""

from knapsolve.schedulers.edf import EDFScheduler
from knapsolve.schedulers.random import RandomScheduler
from knapsolve.schedulers.timetable import Timetable, timetable

__all__ = ["EDFScheduler", "RandomScheduler", "Timetable", "timetable"]

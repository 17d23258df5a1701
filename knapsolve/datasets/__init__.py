"""Bundled real data, and traces of your own repositories."""

from knapsolve.datasets.debian import load_debian_uploads
from knapsolve.datasets.git_log import from_git_log

__all__ = ["from_git_log", "load_debian_uploads"]

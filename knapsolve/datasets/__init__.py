"""Bundled real data."""

from knapsolve.datasets.debian import load_debian_uploads

__all__ = ["load_debian_uploads"]

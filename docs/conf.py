"""Sphinx configuration: pages, the API from docstrings, a gallery from examples/."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

project = "knapsolve"
author = "The knapsolve developers"
version = release = installed_version("knapsolve")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "myst_parser", "numpydoc"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_title = f"knapsolve {version}"
exclude_patterns = ["_build", "auto_examples/GALLERY_HEADER.rst"]


def setup(app: Any) -> None:
    """Docstrings inherited from scikit-learn refer to pages of its own documentation: keep the words alone."""
    app.connect("autodoc-process-docstring", _without_references)


def _without_references(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        lines[:] = [re.sub(r":(?:ref|term):`([^<`]+?)(?: <[^`]*>)?`", r"\1", line) for line in lines]


if list(Path(__file__).parents[1].glob("examples/plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "../examples",
        "gallery_dirs": "auto_examples",
        "filename_pattern": r"plot_\w+\.py$",
        "within_subsection_order": "FileNameSortKey",
        "write_computation_times": False,
    }

"""Sphinx configuration: pages, the API from docstrings, a gallery from examples/."""

from importlib.metadata import version as installed_version
from pathlib import Path

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

if list(Path(__file__).parents[1].glob("examples/plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "../examples",
        "gallery_dirs": "auto_examples",
        "filename_pattern": r"plot_\w+\.py$",
        "within_subsection_order": "FileNameSortKey",
        "write_computation_times": False,
    }

"""The site: ``pip install ".[docs]" && sphinx-build -W docs site``."""

import gpualto

project = "gpualto"
author = "the gpualto developers"
version = release = gpualto.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_copybutton"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # types stand in the docstrings, as people read them
copybutton_prompt_text = ">>> "
exclude_patterns = ["images/*.py"]

html_theme = "pydata_sphinx_theme"
html_title = "gpualto"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}

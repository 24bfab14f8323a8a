"""How the pages are built: `sphinx-build -W docs docs/_build`."""

project = "rpd"
author = "the rpd authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples"]
html_theme = "alabaster"
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]

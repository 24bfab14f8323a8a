"""How the pages are built: `sphinx-build -W docs docs/_build`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "rpd"
author = "the rpd authors"
extensions = [
    *("myst_parser", "sphinx.ext.autodoc"),
    *("program_reference", "component_reference"),
    *("column_reference", "record_reference"),
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
default_role = "literal"  # of docstrings, which quote as Markdown does
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 90
autodoc_default_options = {"undoc-members": True}
smartquotes = False  # --episodes is an option, not a dash
html_theme = "furo"
html_title = "rpd"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#0b5c6b",
        "color-brand-content": "#0b5c6b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5cc4d4",
        "color-brand-content": "#5cc4d4",
    },
}

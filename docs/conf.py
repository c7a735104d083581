"""Sphinx configuration of the site: these pages and the generated reference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reference import write_reference

write_reference(Path(__file__).parent / "reference")

project = "Preference propagation"
author = "The maintainers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Preference propagation"
html_static_path: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True

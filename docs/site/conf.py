"""The documentation as a site: Sphinx, with Markdown by MyST; `make docs` builds it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import reference  # noqa: E402 - it stands beside this file

from collection_search import __version__  # noqa: E402

project = "Collection Search"
author = "The Collection Search authors"
copyright = author  # noqa: A001 - Sphinx's name
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md", "docs/**"]
exclude_patterns = ["docs/site", "docs/screens"]
suppress_warnings = ["misc.highlighting_failure"]  # psql's own commands are no SQL
default_role = "code"  # docstrings write code in single backquotes
html_theme = "furo"
html_title = f"Collection Search {version}"
html_static_path: list[str] = []
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
autodoc_class_signature = "mixed"
napoleon_google_docstring = True


def convert_fences(*given: Any) -> None:
    """Turn the Markdown code fences of a docstring into directives, in place."""
    lines: list[str] = given[-1]
    text = re.sub(
        r"^( *)```(\w+)\n(.*?)^ *```$",
        lambda found: f"{found[1]}.. code-block:: {found[2]}\n\n{indent(found[3], '    ')}",
        "\n".join(lines),
        flags=re.MULTILINE | re.DOTALL,
    )
    lines[:] = text.split("\n")


def setup(app: Any) -> None:
    """Write the pages of the Python reference before Sphinx looks for its sources."""
    reference.write_api_pages(Path(app.srcdir) / "docs" / "reference" / "api")
    app.connect("autodoc-process-docstring", convert_fences)

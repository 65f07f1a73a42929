"""The documentation as a site: Sphinx, with Markdown by MyST; `make docs` builds it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

HERE = Path(__file__).parent
SOURCES = HERE.parents[1]
sys.path[:0] = [str(HERE), str(SOURCES)]

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


def add_contents(_app: Any, document: str, source: list[str]) -> None:
    """Add a table of contents to each section of an index page, from the links of the section."""
    if not document.endswith("index") or not (SOURCES / f"{document}.md").exists():
        return
    sections = re.split(r"^(?=## )", source[0], flags=re.MULTILINE)
    source[0] = "".join(section + contents_of(section, document) for section in sections)


def contents_of(section: str, document: str) -> str:
    """Return a hidden table of contents with the pages that a section links to."""
    pages = dict.fromkeys(re.findall(r"\]\(([^)#]+\.md)\)", section))
    if document == "docs/index" and section.startswith("## Reference"):
        pages["reference/api/index.rst"] = None
    if not pages or (not section.startswith("## ") and document == "docs/index"):
        return ""
    caption = section.partition("\n")[0].removeprefix("## ").lstrip("# ")
    listed = "\n".join(page.removesuffix(".rst") for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n\n"


def setup(app: Any) -> None:
    """Write the pages of the Python reference before Sphinx looks for its sources."""
    reference.write_api_pages(Path(app.srcdir) / "docs" / "reference" / "api")
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", convert_fences)

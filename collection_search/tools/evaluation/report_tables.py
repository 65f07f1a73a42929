"""A report as titled tables: Markdown in a file, narrow tables in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...ranking.metrics import format_table

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Section:
    """One titled table with a note below it; without rows the note alone."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    """One paragraph, in one line."""


@dataclass(frozen=True)
class Report:
    """A titled list of facts, then tables."""

    title: str
    facts: Sequence[str]
    sections: Sequence[Section] = field(default_factory=tuple)

    def to_markdown(self, *, picture: str = "") -> str:
        """Return it as Markdown; `picture` is the address of an image that stands at the end."""
        parts = [f"# {_inline(self.title)}", "\n".join(f"- {_inline(each)}" for each in self.facts)]
        for section in self.sections:
            rows = [list(map(_cell, row)) for row in section.rows]
            parts.append(f"## {_inline(section.title)}")
            if rows:
                parts.append(format_table([_cell(each) for each in section.head], rows))
            if section.note:
                parts.append(section.note)
        if picture:
            parts.append(f"## Curves\n\n![Reliability, precision and recall](<{picture}>)")
        return "\n\n".join(parts) + "\n"


def _inline(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    """Return the text of a cell, which ends at no bar and no line end."""
    return _inline(text).replace("|", "\\|")

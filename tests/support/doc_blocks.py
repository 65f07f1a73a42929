"""The code blocks of the documentation, with what is to be done with each.

A marker on the line above a block says what a test does with it: `<!-- block: KIND, DETAIL -->`. A block of
`text` that follows a block of `python` or `sh` is what that block prints; `...` stands for anything. `exits 3`
as detail says that the last command ends with that code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]
LANGUAGES: Final = ("python", "sh", "yaml", "json", "toml", "sql", "text")
KINDS: Final = {
    "": "run, or parsed where it is data",
    "doubles": "run with variables that lead to the doubles of providers and models",
    "web": "run with variables that lead to pages of the examples' hosts",
    "server": "run; its last command stays, and is stopped at the end of the page",
    "notebook": "run as a cell of a notebook",
    "file": "written to the file that is named",
    "parse": "compose, kubectl and the like: only parsed",
    "illustration": "shown only",
    "skip": "not run, for the reason that is named",
}
"""What a marker can say."""

_MARKER: Final = re.compile(r"<!-- block: (\w+)(?:,? (.+?))? -->\s*$")


@dataclass(frozen=True)
class Block:
    """One code block."""

    page: str
    line: int
    language: str
    code: str
    kind: str = ""
    detail: str = ""
    output: str | None = None
    is_output: bool = False

    @property
    def exit_code(self) -> int:
        """Return the exit code that a shell's block has to end with."""
        named = re.search(r"exits (\d+)", self.detail)
        return int(named[1]) if named else 0

    @property
    def place(self) -> str:
        """Return page and line."""
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Return the documentation's pages, relative to the repository."""
    named = ["README.md", "CONTRIBUTING.md", "examples/README.md"]
    return named + sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    text = (ROOT / page).read_text("utf-8")
    lines = text.splitlines()
    blocks: list[Block] = []
    end = 0
    for token in MarkdownIt().parse(text):
        if token.type != "fence" or token.map is None:
            continue
        start = token.map[0]
        above = _MARKER.search(lines[start - 1]) if start else None
        kind, detail = (above[1], above[2] or "") if above else ("", "")
        language = token.info.strip()
        follows = not any(line.strip() for line in lines[end:start])
        is_output = bool(
            language == "text"
            and not above
            and follows
            and blocks
            and blocks[-1].language in ("python", "sh")
        )
        if is_output:
            last = blocks[-1]
            blocks[-1] = Block(**{**vars(last), "output": token.content})
        blocks.append(
            Block(page, start + 1, language, token.content, kind, detail, is_output=is_output)
        )
        end = token.map[1]
    return blocks


def matches(wanted: str, printed: str) -> bool:
    r"""Return whether the output is the wanted one.

    >>> matches("a\n...\nd\n", "a  \nb\nc\nd")
    True
    >>> matches("a ... c", "a b d")
    False
    """
    parts = [re.escape(part) for part in _trimmed(wanted).split("...")]
    return re.fullmatch(".*?".join(parts), _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())

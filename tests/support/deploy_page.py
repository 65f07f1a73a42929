"""The code blocks of docs/operations/deploy.md."""

from __future__ import annotations

import re
import shlex
from typing import Final

from .deployment import ROOT

PAGE: Final = (ROOT / "docs" / "operations" / "deploy.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """Return the blocks in their order, without the indentation of a list."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def command_lines() -> list[list[str]]:
    """Return the words of each line of the blocks for a shell, redirections left out."""
    lines = [line for text in blocks("sh") for line in text.splitlines() if line]
    return [shlex.split(re.sub(r" [<>] \S+$", "", line)) for line in lines]

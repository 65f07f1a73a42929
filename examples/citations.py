"""Whether an answer cites what was found, and nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_URL = re.compile(r"https?://[^\s<>\"'`)\]}\\]+")


def urls_in(text: str) -> list[str]:
    """Return the URLs of a text, each once.

    In the results of a search only sources are URLs: the texts of pages have none.
    """
    return list(dict.fromkeys(url.rstrip(".,;:!?*") for url in _URL.findall(text)))


def find_citations(answer: str, results: Iterable[str]) -> dict[str, bool]:
    """Return the URLs that the answer cites, each with whether it is in one of the results."""
    found = set(urls_in("\n".join(results)))
    return {url: url in found for url in urls_in(answer)}

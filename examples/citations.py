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


def show_answer(answer: str, results: Iterable[str]) -> None:
    """Print the answer and the URLs that it cites.

    Ends the program with exit code 1 for an answer that cites nothing, or a URL that is in none
    of the results: a model may make one up.
    """
    found = set(urls_in("\n".join(results)))
    cited = urls_in(answer)
    print(f"{answer}\n\nCited:")
    for url in cited:
        print(f"  {url}{'' if url in found else '  (not among the results)'}")
    if not cited:
        raise SystemExit("The answer cites no page.")
    if not found.issuperset(cited):
        raise SystemExit("The answer cites a page that was not found.")

"""Passages as a model and a person see them, by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...ranking.evidence import answering
from ...text.clean import excerpt
from ...text.untrusted import fence, neutralize, neutralize_line, show_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...contracts.collection import Passage

_ROUND: Final = str.maketrans("[]【】\uff3b\uff3d\u3014\u3015", "()()()()")


FAR: Final = "(too far from the question to answer it)"
"""Follows the address of a passage that is no answer."""


def fence_passages(passages: Sequence[Passage], *heads: str) -> str:
    """Return the passages inside a fence, each with number, title and address.

    Those that do not answer the question of which they were retrieved are marked by `FAR`.
    """
    near = {passage.n for passage in answering(passages)}
    numbered = (_numbered(passage, is_near=passage.n in near) for passage in passages)
    return fence("\n\n".join([*heads, *numbered]))


def list_sources(passages: Iterable[Passage], *, mark: str = "", chars: int = 0) -> str:
    """Return number, title and address of each passage, one to a line after `mark`.

    With `chars` the beginning of its text follows, of at most as many characters.

    >>> from collection_search.contracts.collection import Passage
    >>> tea = Passage(n=3, url="https://a.org/", title="Tea", text="Tea is hot.", score=9)
    >>> print(list_sources([tea], mark="- ", chars=20))
    - [3] Tea — https://a.org/
      Tea is hot.
    """
    return "\n".join(_listed(passage, mark, chars) for passage in passages)


def _listed(passage: Passage, mark: str, chars: int) -> str:
    """Return the lines of a passage, in which its number alone stands in brackets."""
    title = neutralize_line(passage.title).translate(_ROUND)
    head = f"{mark}[{passage.n}] {title} — {show_url(passage.url)}"
    if not chars:
        return head
    text = excerpt(neutralize_line(passage.text), chars).translate(_ROUND)
    return f"{head}\n{' ' * len(mark)}{text}"


def _numbered(passage: Passage, *, is_near: bool) -> str:
    head = _head(passage) if is_near else f"{_head(passage)} {FAR}"
    return f"{head}\n{neutralize(passage.text)}"


def _head(passage: Passage) -> str:
    return f"[{passage.n}] {neutralize_line(passage.title)} — {show_url(passage.url)}"

"""What a model embeds of a page, and how a collection remembers in which form that was.

Chunks are embedded with the title of their page. Collections of earlier versions have vectors of
the chunks alone. Vectors of both forms do not compare, so what a collection remembers is the
embedder's fingerprint with the form; a fingerprint alone stands for the earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_WITH_TITLES: Final = "+titles"
_HEAD_OF_TITLES: Final = 2
"""How much of a text is compared with the title, as a multiple: a text may have more blanks."""


def titled_text(title: str, text: str) -> str:
    """Return title and text as one, as candidates and anchors are embedded."""
    return f"{title}\n{text}"


def titled_fingerprint(fingerprint: str) -> str:
    """Return what a collection remembers whose chunks this embedder embeds with their titles.

    >>> titled_fingerprint("openai:text-embedding-3-small@512")
    'openai:text-embedding-3-small@512+titles'
    """
    return fingerprint + _WITH_TITLES


def embedder_of_vectors(remembered: str) -> str:
    """Return the fingerprint of the embedder in what a collection remembers.

    >>> embedder_of_vectors("local:m+titles"), embedder_of_vectors("local:m")
    ('local:m', 'local:m')
    """
    return remembered.removesuffix(_WITH_TITLES)


def has_titles(remembered: str) -> bool:
    """Return whether the collection's chunks are embedded with their titles."""
    return remembered.endswith(_WITH_TITLES)


def told_apart(one: str, other: str) -> tuple[str, str]:
    """Return how two collections' embedders are called where they differ.

    >>> told_apart("local:m+titles", "local:n"), told_apart("local:m+titles", "local:m")
    (('local:m', 'local:n'), ('local:m with titles', 'local:m without titles'))
    """
    names = embedder_of_vectors(one), embedder_of_vectors(other)
    if names[0] != names[1]:
        return names
    forms = [f"{names[0]} with{'' if has_titles(each) else 'out'} titles" for each in (one, other)]
    return forms[0], forms[1]


def chunk_texts(remembered: str, chunks: Iterable[tuple[str, str]]) -> list[str]:
    r"""Return what is embedded of chunks, given as title and text, in a collection's form.

    A title that only repeats the beginning of the text or the page's address is left out.

    >>> chunk_texts("local:m+titles", [("Tea", "Brew it."), ("Tea", "# Tea\n\nIt is hot.")])
    ['Tea\nBrew it.', '# Tea\n\nIt is hot.']
    >>> chunk_texts("local:m", [("Tea", "Brew it.")])
    ['Brew it.']
    """
    if not has_titles(remembered):
        return [text for _, text in chunks]
    return [titled_text(title, text) if _adds(title, text) else text for title, text in chunks]


def _adds(title: str, text: str) -> bool:
    own = " ".join(title.rstrip(" …").split())
    if not own or own.startswith(("http://", "https://")):
        return False
    beginning = " ".join(text[: _HEAD_OF_TITLES * len(own)].lstrip("# ").split())
    return not beginning.startswith(own)

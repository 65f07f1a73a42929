"""The notice that a question and a collection are in different languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...ranking.languages.guess import find_language_gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Passage, TenantScope
    from ...ports.collections import CollectionStore

_SAMPLE: Final = 5
"""Documents whose language is looked at where no passage was found."""


def explain_language(
    store: CollectionStore, scope: TenantScope, question: str, passages: Sequence[Passage]
) -> str | None:
    """Return that the collection is in another language, where words alone are compared. Blocks.

    `passages` are those that were found; without any the first pages are looked at. The text has no
    full stop: a command that does what it advises may follow.
    """
    if store.embedder(scope) is not None:
        return None
    texts = [passage.text for passage in passages]
    if not texts:
        some = list(store.hashes(scope))[:_SAMPLE]
        texts = [one.chunks[0].text for one in store.get(scope, some) if one.chunks]
    if (gap := find_language_gap(question, texts)) is None:
        return None
    asked, found = gap
    return (
        f"The question is in {asked}, {scope.collection!r} is in {found}, and it is searched by its"
        f" words alone. Ask in {found}, or give it an embedding model for several languages"
    )

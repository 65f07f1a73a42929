"""What all examples are given: a question, a model, and whether they run offline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from collection_search import SearchContext, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTION = "How do I cancel an asyncio task after a timeout?"


class Arguments(NamedTuple):
    """The arguments of one example."""

    question: str
    model: str
    base_url: str | None
    """Address of the model's endpoint; None: the vendor's own."""
    offline: bool

    def settings(self) -> Settings:
        """Return your settings; offline: the documentation of this machine and no model."""
        settings = Settings.load()
        if not self.offline:
            return settings
        return settings.model_copy(
            update={"provider": "offline", "embeddings": "lexical", "model": None}
        )

    def context(self) -> SearchContext:
        """Return what the tools search with."""
        return SearchContext(settings=self.settings())


def read_arguments(documentation: str | None, given: Sequence[str] | None) -> Arguments:
    """Return the arguments of the command line, or the given ones."""
    description = (documentation or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--base-url", help="address of the model's endpoint")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--model", help="name of the model", default="scripted")
    model.add_argument(
        "--offline",
        action="store_true",
        help="a scripted model, and the documentation of this machine: no key, no network",
    )
    return Arguments(**vars(parser.parse_args(given)))

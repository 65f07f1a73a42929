"""Measure how many questions count as answered although the page of their subject leaves them open.

`python benchmarks/open_questions.py [--embeddings local:FOLDER]` fills a collection with one page
for each of 30 animals (weight, height, habitat, nest, coat), asks 12 questions about what no page
says and 12 about what one says, and prints how many passages of each kind reach the level of an
answer. `evidence.py` removes the page that answers; here the page of the subject stays.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evidence import TENANT, fill

from collection_search import Settings, aretrieve
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.ranking.evidence import answering
from collection_search.tools.evaluation.beir import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

ANIMALS: Final = (
    *("grey heron", "otter", "badger", "red fox", "hedgehog", "moose"),
    *("lynx", "wolverine", "puffin", "gannet", "osprey", "kingfisher"),
    *("beaver", "stoat", "marten", "roe deer", "wild boar", "brown bear"),
    *("grey seal", "harbour porpoise", "barn owl", "raven", "jackdaw", "swift"),
    *("skylark", "nightjar", "bittern", "crane", "avocet", "curlew"),
)
PAGE: Final = (
    "# {title}\n\nThe {name} weighs about {n}.5 kg and is up to {height} cm tall. The {name} lives"
    " near rivers and in woods of northern Europe, and many people watch it in spring.\n\nThe"
    " {name} builds its den or nest in a quiet place. Its coat or plumage changes its colour in"
    " autumn."
)
OPEN: Final = (
    "How fast does a grey heron fly?",
    "How many eggs does a grey heron lay?",
    "Who discovered the grey heron?",
    "Which parasites infect the grey heron?",
    "How deep can a puffin dive?",
    "What is the top speed of a red fox?",
    "How do I cook wild boar?",
    "Is the lynx protected by law in Norway?",
    "What does a barn owl sound like?",
    "How many teeth does an otter have?",
    "price of a stuffed badger",
    "grey heron migration route Africa satellite telemetry",
)
ANSWERED: Final = (
    "How much does a grey heron weigh?",
    "How tall is a red fox?",
    "Where does the otter live?",
    "What is the weight of the lynx?",
    "How much does a barn owl weigh?",
    "Where does the puffin build its nest?",
    "When does the coat of the stoat change its colour?",
    "height of the moose",
    "Where do wolverines live?",
    "When do people watch the crane?",
    "brown bear den",
    "How heavy is a badger?",
)


def pages() -> list[Entry]:
    """Return one page an animal."""
    return [
        Entry(
            str(n),
            name.title(),
            PAGE.format(title=name.title(), name=name, n=n + 1, height=40 + n),
            f"https://pages.example/{n}",
        )
        for n, name in enumerate(ANIMALS)
    ]


async def answered(context: SearchContext, questions: Sequence[str]) -> int:
    """Return how many of the questions have a passage at the level of an answer."""
    found = [await aretrieve(one, collection="all", context=context) for one in questions]
    return sum(bool(answering(each)) for each in found)


async def run(embeddings: str) -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home))
        store = SQLiteStore.from_settings(settings)
        context = SearchContext(
            settings=settings, store=store, tenant_id=TENANT, embeddings=embeddings
        )
        await fill(context, "all", pages())
        for name, questions in (("left open", OPEN), ("answered", ANSWERED)):
            count = await answered(context, questions)
            print(f"{embeddings}: of {len(questions)} {name}, {count} count as answered")
        store.close()
    return 0


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embeddings", default="lexical")
    return asyncio.run(run(parser.parse_args().embeddings))


if __name__ == "__main__":
    sys.exit(main())

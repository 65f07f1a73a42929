"""Measure the product beside the same job from stock parts, with and without an LLM re-ranker.

`python benchmarks/alternatives.py [--questions 31]` prints a Markdown table, in about two minutes.
All are asked in turns, over the same stub. Money is by the list prices of `contracts/prices.toml`.
The stub's chat model takes 400 ms however much it reads: a real one takes longer to grade 37 pages.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

import world
from measure import Spread
from overhead import Bench, alone
from overhead_report import FLOOR, PRODUCT

from collection_search.contracts.price_list import LIST_PRICES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measure import Round

STOCK: Final = "stock parts"
RERANKED: Final = "stock parts, LLM re-ranker"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 when a call failed."""
    parser = argparse.ArgumentParser(description="The product beside stock parts.")
    parser.add_argument("--questions", type=int, default=31)
    options = parser.parse_args(arguments)
    names = [PRODUCT, STOCK, RERANKED, FLOOR]
    with Bench("tavily") as bench:
        found = alone(bench, names, options.questions)
    print("| who | wall ms | of it added ms | CPU ms | calls | ranking, $ per 1000 | pages twice |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        print(_row(name, found[name]))
    errors = [error for rounds in found.values() for each in rounds for error in each.errors]
    print(*errors, sep="\n", file=sys.stderr)
    return 1 if errors else 0


def _row(name: str, rounds: Sequence[Round]) -> str:
    calls = ", ".join(f"{n} {kind}" for kind, n in sorted(rounds[-1].calls.items()))
    figures = [
        str(Spread.of(each.wall_ms for each in rounds)),
        str(Spread.of(each.overhead_ms for each in rounds)),
        str(Spread.of(each.cpu_ms for each in rounds)),
        calls,
        f"{1000 * ranking_cost(rounds[-1]):.3f}",
        str(max(repeated(each) for each in rounds)),
    ]
    return f"| {name} | " + " | ".join(figures) + " |"


def ranking_cost(asked: Round) -> float:
    """Return what ranking the pages of one question cost, in dollars: grades and embeddings."""
    tokens = asked.tokens
    graded = LIST_PRICES.chat_cost(
        "gpt-4o-mini", tokens.get("grades input", 0), tokens.get("grades output", 0)
    )
    embedded = LIST_PRICES.embedding_cost("text-embedding-3-small", tokens.get("embeddings", 0))
    return (graded or 0.0) + (embedded or 0.0)


def repeated(asked: Round) -> int:
    """Return how many of the answer's places show a page that stands there already."""
    return sum(
        len(answer["urls"]) - len({world.page_of(url) for url in answer["urls"]})
        for answer in asked.answers
    )


if __name__ == "__main__":
    sys.exit(main())

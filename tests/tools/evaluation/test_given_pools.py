"""A data set with `pools.jsonl`: exactly these pages are ranked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.labelled_data import write_dataset

from collection_search.errors import InputError
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.evaluation.beir import load_dataset
from collection_search.tools.evaluation.evaluation import evaluate_ranking
from collection_search.tools.evaluation.pools import build_pools, embed_corpus, take_pools

if TYPE_CHECKING:
    from pathlib import Path

POOLS = [
    {"query-id": "q2", "pool": ["soup", "tea"]},
    {"query-id": "q5", "pool": ["cancel", "houses"]},
]


def write_pools(folder: Path, *pools: dict[str, Any]) -> Path:
    write_dataset(folder)
    lines = "".join(json.dumps(each) + "\n" for each in pools)
    (folder / "pools.jsonl").write_text(lines)
    return folder


async def test_the_pools_are_ranked_as_they_are(tmp_path: Path) -> None:
    """An empty-handed question is kept, others are left out; only these pages are embedded."""
    corpus = take_pools(load_dataset(write_pools(tmp_path, *POOLS)))
    assert [question.id for question in corpus.dataset.questions] == ["q2", "q5"]
    assert [question.unjudged for question in corpus.dataset.questions] == [1, 2]
    assert corpus.to_embed == ["soup", "tea", "cancel", "houses"]
    space = await embed_corpus(corpus, ScriptedEmbedder())
    own, off_topic = build_pools(corpus, space)
    assert [sorted(pool.places) for pool in own] == [[0, 1], [0, 1]]
    assert {page.title for page in own[1].pages} == {"Tasks", "Häuser"}
    assert [pool.is_answerable for pool in own] == [True, False]
    assert {page.title for page in off_topic[1].pages} == {"Soup", "Tea"}


def test_an_empty_handed_search_counts_for_the_gate_alone(tmp_path: Path) -> None:
    """The order of its pages has no figure."""
    found = evaluate_ranking(take_pools(load_dataset(write_pools(tmp_path, *POOLS))))
    assert (found.questions, found.answerable, found.unjudged_pages) == (2, 1, 3)
    assert found.has_given_pools
    words = found.methods[0]
    assert words.precision_at_1.mean == 1
    assert words.gate is not None
    assert words.gate.empty_pools == 1


@pytest.mark.parametrize(
    ("pools", "says"),
    [
        ([{"query-id": "q2", "pool": "tea"}], r"pools\.jsonl:1: pool is no list"),
        ([{"pool": ["tea"]}], r"pools\.jsonl:1: no JSON object with a query-id"),
        ([{"query-id": "nix", "pool": ["tea"]}], r"names the question 'nix', which .*queries"),
        ([{"query-id": "q5", "pool": ["tea"]}], "calls no page relevant"),
        ([], "holds no pool"),
        ([{"query-id": "q2", "pool": ["nix"]}], r"names the page 'nix', which corpus\.jsonl"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, pools: list[dict[str, Any]], says: str) -> None:
    """With the file, and the line where it is one line's."""
    write_pools(tmp_path, *pools)
    with pytest.raises(InputError, match=says):
        take_pools(load_dataset(tmp_path))

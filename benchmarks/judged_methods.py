"""Ranking methods with their scores of labelled pools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pools import Pool, cut

from collection_search.ranking.metrics import PAIRINGS, ndcg
from collection_search.ranking.selection_metrics import SelectionFigures, measure_scored_pools

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fit_scoring import Array
    from methods import Method


@dataclass(frozen=True)
class Data:
    """Questions with their own pools, and with other questions' pools."""

    own: Mapping[str, Sequence[Pool]]
    off_topic: Mapping[str, Sequence[Pool]]

    def cut_to(self, size: int) -> Data:
        """Return the same pools with fewer pages."""
        return Data(
            {name: [cut(pool, size) for pool in pools] for name, pools in self.own.items()},
            {name: [cut(pool, size) for pool in pools] for name, pools in self.off_topic.items()},
        )


@dataclass(frozen=True)
class Judged:
    """One method: nDCG@10 per question and set, and the scores that the gate reads."""

    ndcg: Mapping[str, Array]
    own: Mapping[str, list[tuple[Array, Sequence[int]]]]
    off_topic: Mapping[str, list[Array]]
    scales: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, method: Method, data: Data, *, has_threshold: bool) -> Judged:
        """Score every pool; those off topic for a gate only."""
        own = {
            name: [(method.by_set[name](pool), pool.grades) for pool in pools]
            for name, pools in data.own.items()
        }
        off_topic = {
            name: [method.by_set[name](pool) for pool in pools]
            for name, pools in data.off_topic.items()
        }
        ndcgs = {
            name: np.array([ndcg(*each) for each in scored if any(each[1])])
            for name, scored in own.items()
        }
        return cls(ndcgs, own, off_topic if has_threshold else {}, method.scales)

    def gate(self, name: str, shift: float = 0.0) -> SelectionFigures:
        """Return the rule's figures on one set, were all scores moved by `shift`."""
        own = [(scores + shift, grades) for scores, grades in self.own[name]]
        off_topic = [scores + shift for scores in self.off_topic[name]]
        return measure_scored_pools(own, off_topic, scale=self.scales.get(name), pairings=PAIRINGS)

    def minus(self, other: Judged) -> list[Array]:
        """Return by how much nDCG@10 is above the other's, per question of each set."""
        return [self.ndcg[name] - other.ndcg[name] for name in self.ndcg]

"""The anchors resemble the labelled pools on which the scores were fitted."""

from __future__ import annotations

from statistics import fmean, median

import pytest
from support.benchmark_modules import benchmark

anchors = benchmark("anchors")


@pytest.mark.slow
def test_anchors_share_as_many_words_as_labelled_pairs_do() -> None:
    """Over the pools the medians are 0.318 of related and 0.105 of unrelated pairs."""
    kinds = zip(*(pairs for _, pairs in anchors._anchor_pairs()), strict=True)
    related, unrelated = (
        fmean(median(anchors.shared(*pair) for pair in pairs) for pairs in kind) for kind in kinds
    )
    assert related == pytest.approx(0.318, abs=0.02)
    assert unrelated == pytest.approx(0.105, abs=0.02)


def test_sharing_is_measured_from_nothing_to_everything() -> None:
    """Whatever stands beside it, and without words."""
    page = anchors.PageText("Tasks", "cancel a task", "")
    assert anchors.shared("tasks cancel a task", page) == pytest.approx(1)
    assert anchors.shared("soup", page) == anchors.shared("", page) == 0
    assert 0 < anchors.shared("cancelled", page) < 1

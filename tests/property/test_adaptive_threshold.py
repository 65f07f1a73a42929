"""Properties of the learnt minimum score, whatever people decide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.adaptive import (
    FEWEST_DECISIONS,
    FEWEST_OF_A_KIND,
    FEWEST_PAGES,
    HIGHEST,
    LOWEST,
    MAX_MOVED,
    DecidedScores,
    learn_threshold,
)

scores = st.floats(0, 100).map(lambda score: round(score, 2))
few = st.lists(scores, max_size=4)
decisions = st.lists(st.builds(DecidedScores, few, few), max_size=12)
enough = st.lists(
    st.builds(
        DecidedScores,
        st.lists(scores, min_size=2, max_size=4),
        st.lists(scores, min_size=2, max_size=4),
    ),
    min_size=FEWEST_DECISIONS,
    max_size=12,
)


@given(decisions, st.integers(0, 100))
def test_it_stays_within_its_bounds(decided, default):
    """Never far from the default, never below 50 or above 85 unless the default is there."""
    learnt = learn_threshold(decided, default=default).min_score
    assert abs(learnt - default) <= MAX_MOVED
    assert learnt == default or LOWEST <= learnt <= HIGHEST


@given(decisions)
def test_too_few_are_ignored(decided):
    approved = sum(len(each.approved) for each in decided)
    rejected = sum(len(each.rejected) for each in decided)
    counted = sum(bool(each.approved or each.rejected) for each in decided)
    learnt = learn_threshold(decided, default=60)
    assert learnt.is_learnt == (
        counted >= FEWEST_DECISIONS
        and approved + rejected >= FEWEST_PAGES
        and min(approved, rejected) >= FEWEST_OF_A_KIND
    )
    assert learnt.is_learnt or learnt.min_score == 60


@given(enough, scores)
def test_a_further_approval_never_raises_it(decided, score):
    """And a further rejection never lowers it, in a decision of at most ten pages."""
    first, *rest = decided
    before = learn_threshold(decided, default=60).min_score
    approving = first._replace(approved=[*first.approved, score])
    rejecting = first._replace(rejected=[*first.rejected, score])
    assert learn_threshold([approving, *rest], default=60).min_score <= before
    assert learn_threshold([rejecting, *rest], default=60).min_score >= before


@given(enough, st.randoms(use_true_random=False))
def test_the_order_does_not_count(decided, random):
    mixed = [
        DecidedScores(*(random.sample(pages, len(pages)) for pages in each)) for each in decided
    ]
    random.shuffle(mixed)
    assert learn_threshold(mixed, default=60) == learn_threshold(decided, default=60)

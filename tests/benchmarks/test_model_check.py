"""The line between models that rank better than words and those that rank worse."""

from __future__ import annotations

import pytest
from support.benchmark_modules import benchmark

model_check = benchmark("model_check")
worse_models = benchmark("worse_models")


def test_the_line_lies_in_the_widest_gap_with_the_fewest_mistakes() -> None:
    """A tie counts on neither side."""
    line, mistakes = model_check.best_line([1.0, 2.0, 3.0, 6.0, 7.0], [-0.2, 0.05, -0.1, 0.2, 0.0])
    assert (line, mistakes) == (4.5, 1)


@pytest.mark.parametrize("size", [16, 300])
def test_hashed_parts_are_unit_vectors_that_do_not_change(size: int) -> None:
    """Equal texts are equal, whatever else is embedded; others are not."""
    one, again, other = worse_models._hashed(str.split, size, ["a b", "b a", "c d"])
    assert one @ again == pytest.approx(1)
    assert abs(one @ other) < 0.9
    (alone,) = worse_models._hashed(str.split, size, ["a b"])
    assert alone == pytest.approx(one)

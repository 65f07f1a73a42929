"""The fairness benchmark: it runs the real engine, and tells waits that depend on pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.benchmark_modules import benchmark

if TYPE_CHECKING:
    from collections.abc import Sequence

fairness = benchmark("fairness")


@pytest.mark.slow
def test_a_small_tenant_does_not_wait_for_the_pages_of_a_large_one() -> None:
    (wait,) = fairness.waits([200, 3])
    assert wait.pages == 3
    assert wait.others < 100


@pytest.mark.parametrize(("grows", "code"), [(False, 0), (True, 1)])
def test_waits_that_grow_with_the_pages_end_the_program_with_failure(
    grows: bool, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def waits(pages: Sequence[int]) -> list[Any]:
        return [fairness.Wait(count, pages[0] if grows else 7, 0.1) for count in pages[1:]]

    monkeypatch.setattr(fairness, "waits", waits)
    assert fairness.main(["--scale", "0.1"]) == code
    told = capsys.readouterr().out
    assert f"all pages / a tenth: {10 if grows else 1}.00 (at most 2)" in told
    assert told.count("| ten tenants |") == 9

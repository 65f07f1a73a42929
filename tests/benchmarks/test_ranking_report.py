"""What the package says of its scores is what the ranking benchmark printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from collection_search.ranking.bands import BAND_EDGES, RELEVANT_SHARES

REPORT = Path(__file__).parents[2] / "benchmarks" / "reports" / "ranking.md"


def printed_shares(kind: str) -> dict[str, float]:
    """Return the mean share of relevant pages by band, as the kept report has it."""
    text = REPORT.read_text(encoding="utf-8").split("## Share of relevant pages by score")[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.split("\n## ")[0].splitlines()
        if line.startswith("|")
    ]
    return {row[1]: float(row[-1]) for row in rows if row[0] == kind}


@pytest.mark.parametrize("kind", RELEVANT_SHARES)
def test_the_bands_in_explanations_are_those_of_the_report(kind: str) -> None:
    """Band by band, as `benchmarks/ranking.py` prints them."""
    printed = printed_shares(kind)
    bands = zip(BAND_EDGES, BAND_EDGES[1:], RELEVANT_SHARES[kind], strict=False)
    assert {f"{low}-{high}": share for low, high, share in bands} == {
        band: share for band, share in printed.items() if int(band.split("-")[0]) >= BAND_EDGES[0]
    }


def test_all_goals_of_the_report_are_met() -> None:
    """A report with a goal that is not met is not kept."""
    goals = REPORT.read_text(encoding="utf-8").split("## Goals")[1].split("\n## ")[0]
    rows = [line for line in goals.splitlines() if line.startswith("| nDCG") or "default:" in line]
    assert len(rows) > len(RELEVANT_SHARES)
    assert [row for row in rows if not row.endswith("| yes |")] == []

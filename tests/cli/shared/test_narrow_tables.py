"""Tables that fit a terminal, whatever stands in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from collection_search.cli.shared.narrow_tables import narrow_tables

CELLS = st.text(max_size=120)
TABLES = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=2, max_size=5)
)


@given(TABLES, st.integers(20, 120))
def test_no_line_is_wider_than_the_terminal(rows: list[list[str]], columns: int) -> None:
    """Wide characters take two columns; line ends and controls never reach the terminal."""
    lines = narrow_tables(rows[0], rows[1:], columns=columns)
    assert max(map(cell_len, lines)) <= columns
    assert all(line.isprintable() for line in lines)


def test_a_wide_table_becomes_several() -> None:
    """Each begins with the first column, and no cell is lost."""
    head = ["method", *(f"figure {n}" for n in range(5))]
    lines = narrow_tables(head, [["BM25", *("0.500 [0.400, 0.600]" for _ in range(5))]])
    assert [line.split("  ")[0] for line in lines if line] == ["method", "------", "BM25"] * 2
    assert sum(line.count("0.500 [0.400, 0.600]") for line in lines) == 5


def test_a_long_name_is_cut() -> None:
    """It ends in an ellipsis, and the figures stand whole beside it."""
    lines = narrow_tables(["page", "score"], [["x" * 200, "61.5"]], columns=40)
    assert lines[2] == "x" * 32 + "…" + "  61.5"


def test_no_row_is_no_table() -> None:
    """A title with its note says more than an empty table."""
    assert narrow_tables(["a"], []) == []

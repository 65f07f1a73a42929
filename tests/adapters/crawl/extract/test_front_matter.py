"""Front matter is read by YAML's and TOML's own rules; all other blocks are text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.adapters.crawl.extract.front_matter import split_front_matter

LINES = st.sampled_from(
    ["---", "+++", "...", "title: a", "title = 'a'", "- b", "# c", "Words.", ""]
)


@pytest.mark.parametrize(
    ("block", "title"),
    [
        ("---\n# required metadata\n\ntitle: Tea\nms.author: x\n---\n", "Tea"),
        ("---\n\ntitle: Tea\ndate: 1\n---\n", "Tea"),
        ("---\n$schema: x\ntitle: Tea\n---\n", "Tea"),
        ("---\ntitle: >-\n  Tea of\n  two lines\n---\n", "Tea of two lines"),
        ("---\ntitle: 'What''s new'\n...\n", "What's new"),
        ('---\ntitle: "The \\"best\\" tea" # a comment\n---\n', 'The "best" tea'),
        ("---\ntags: [\n  a,\n]\nTitle: Tea\n--- \n", "Tea"),
        ("---\ntitle: 1984\n---\n", "1984"),
        ('---\ntitle: "Tea \\ud83c\\udf75"\n---\n', "Tea \U0001f375"),
        ('---\ntitle: "Tea \\ud83c"\n---\n', "Tea \ufffd"),
        ("---\ntitle: C: the language\nby: me\n---\n", "C: the language"),
        ("---\ntitle: null\n---\n", ""),
        ("---\ntitle: [a]\n---\n", ""),
        ("---\ndate created: 2026\nby: me\n---\n", ""),
        ('+++\ntitle = "Tea"\n+++\n', "Tea"),
        ("+++\n[menu]\ntitle = 'Bar'\n+++\n", ""),
        ("+++\n+++\n", ""),
    ],
)
def test_a_title_is_what_a_site_would_show(block: str, title: str) -> None:
    """Whether it is quoted, folded or commented."""
    assert split_front_matter(f"{block}Words\n") == (title, "Words\n")


@pytest.mark.parametrize(
    "text",
    [
        "---\nNote: tea is hot.\n\n- boil\n- pour\n\n---\nMore",
        "---\nThe key: below.\n---\nMore",
        "---\nSome words.\n---\nMore",
        "---\n---\nMore",
        "---\ntitle: Tea\n",
        '---\ntitle: "Tea \\U00110000"\n---\nMore',
        '---\ntitle: "Tea \\UFFFFFFFF"\n---\nMore',
        "+++\nSome words.\n+++\nMore",
        "---\ntitle: " + "{a," * 1_000 + "\n---\nMore",
        "---\n" + "a: [" * 900 + "\n---\nMore",
        "---\ntext: " + "long " * 3_000 + "\n---\nMore",
    ],
)
def test_other_blocks_stay(text: str) -> None:
    """Text between two rules, and what no parser should be given."""
    assert split_front_matter(text) == ("", text)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_no_text_after_the_block_is_lost(text: str) -> None:
    """What is left is the end of what was there, and a title is one line."""
    title, rest = split_front_matter(text)
    assert text.endswith(rest)
    assert "\n" not in title

"""From a model's text to sentences with citations that exist."""

from __future__ import annotations

import re

import pytest

from collection_search.contracts.collection import Passage
from collection_search.text.sentence_ends import split_sentences
from collection_search.tools.answers.citing import cite

PASSAGES = [
    Passage(n=n, url=f"https://a.org/{n}", title=f"Page {n}", text="x", score=80) for n in (1, 2, 3)
]


def cited(text: str) -> list[tuple[str, list[int]]]:
    return [(one.text, one.citations) for one in cite(text, PASSAGES).sentences]


@pytest.mark.parametrize(
    ("written", "numbers"),
    {
        "Tea is hot [1].": [1],
        "Tea is hot.[1]": [1],
        "Tea is hot. [1]": [1],
        "Tea is hot [1, 3].": [1, 3],
        "Tea is hot [1; 3].": [1, 3],
        "Tea is hot [1 and 3].": [1, 3],
        "Tea is hot [1][2].": [1, 2],
        "Tea is hot [1] [2].": [1, 2],
        "Tea is hot [1-3].": [1, 2, 3],
        "Tea is hot [1\u20133].": [1, 2, 3],
        "Tea is hot [^1].": [1],
        "Tea is hot [[2]].": [2],
        "Tea is hot 【1】.": [1],
        "Tea is hot 【3†source】.": [3],
        "Tea is hot (source 1).": [1],
        "Tea is hot (sources 1, 2).": [1, 2],
        "Tea is hot (Quelle 2).": [2],
        "Tea is hot (Quellen 1 und 3).": [1, 3],
        "Tea is hot [source 1, source 3].": [1, 3],
        "Tea is hot [citation:2].": [2],
        "Tea is hot<sup>2</sup>.": [2],
        "Tea is hot [2](https://a.org/2).": [2],
        "Tea is hot [[2]](https://a.org/2).": [2],
        "Tea is hot [2](https://evil.example/).": [2],
        "Tea is hot `[2]`.": [2],
        "Tea [2] is hot [1][2].": [2, 1],
        "Tea is hot [9].": [],
        "Tea is hot [1, 9].": [1],
        "Tea is hot [0].": [],
        "Tea is hot [99999999999999999999].": [],
        "Tea is hot https://a.org/1.": [],
    }.items(),
)
def test_every_form_of_a_citation_is_read(written: str, numbers: list[int]) -> None:
    """Models write them in many forms; an address is none of them."""
    assert [one.citations for one in cite(written, PASSAGES).sentences] == [numbers]
    shown = cite(written, PASSAGES).text
    marks = "".join(f"[{n}]" for n in numbers) or "[no source]"
    assert shown in (f"Tea is hot. {marks}", f"Tea is hot https://a.org/1. {marks}")


def test_a_sentence_without_a_valid_citation_is_marked() -> None:
    """In the sentence, and where people read it."""
    found = cite("Tea is hot [1]. Coffee is cold. Milk is white [7].", PASSAGES)
    assert [one.supported for one in found.sentences] == [True, False, False]
    assert found.text == "Tea is hot. [1] Coffee is cold. [no source] Milk is white. [no source]"
    assert found.removed == 1


@pytest.mark.parametrize(
    ("text", "sentences"),
    {
        "Use e.g. a timeout. Then wait.": ["Use e.g. a timeout.", "Then wait."],
        "Dr. Who came. He left.": ["Dr. Who came.", "He left."],
        "J. R. Smith wrote it. We read it.": ["J. R. Smith wrote it.", "We read it."],
        "Version 3.12 has it. So has 3.13.": ["Version 3.12 has it.", "So has 3.13."],
        "Call asyncio.timeout(). It ends.": ["Call asyncio.timeout().", "It ends."],
        "Is it so? Yes! It is.": ["Is it so?", "Yes!", "It is."],
        "Das gilt z. B. ab dem 3. Mai. Davor nicht.": [
            "Das gilt z. B. ab dem 3. Mai.",
            "Davor nicht.",
        ],
        "Vgl. § 4 Abs. 2 und Art. 5 bzw. Nr. 7. Es gilt.": [
            "Vgl. § 4 Abs. 2 und Art. 5 bzw. Nr. 7.",
            "Es gilt.",
        ],
        "Er sagte: „Nein.“ Dann ging er.": ["Er sagte: „Nein.“", "Dann ging er."],
        "Im 19. Jahrhundert war es so. Heute nicht.": [
            "Im 19. Jahrhundert war es so.",
            "Heute nicht.",
        ],
        "Äpfel, Birnen usw. liegen da. Über alles.": [
            "Äpfel, Birnen usw. liegen da.",
            "Über alles.",
        ],
        "It waits ... and ends. Done.": ["It waits ... and ends.", "Done."],
        "これは茶です。熱いです。": ["これは茶です。", "熱いです。"],
        "No full stop": ["No full stop"],
    }.items(),
)
def test_sentences_of_both_languages(text: str, sentences: list[str]) -> None:
    """Abbreviations, ordinals, versions and quotations do not end a sentence."""
    assert split_sentences(text) == sentences


MARKDOWN = """\
## Two ways

Tasks end in two
ways [1].

- By a timeout [2]
- By a call. It raises [3].
  - Nested, without a source

1. First step [1].

```python
handlers[7] = a[1]  # see [9]
```

Then `x[7]` is set [2].

| Name | Value |
|------|-------|
| tea | hot [1] |
| milk | cold |
"""
SHOWN = """\
## Two ways

Tasks end in two ways. [1]

- By a timeout [2]
- By a call. [no source] It raises. [3]
  - Nested, without a source [no source]

1. First step. [1]

```python
handlers[7] = a[1]  # see [9]
```

Then `x[7]` is set. [2]

| Name | Value |
|------|-------|
| tea | hot [1] |
| milk | cold [no source] |"""


def test_markdown_stays_and_every_claim_is_judged() -> None:
    """Lists, code and tables survive; code has the citations of the sentence before it."""
    assert cite(MARKDOWN, PASSAGES).text == SHOWN
    assert ("```python\nhandlers[7] = a[1]  # see [9]\n```", [1]) in cited(MARKDOWN)


def test_code_without_a_source_is_marked_behind_it() -> None:
    """Nothing is written into the code."""
    assert cite("```\nrm -rf\n```", PASSAGES).text == "```\nrm -rf\n```\n[no source]"


@pytest.mark.parametrize(
    "heading", ["Sources:", "## Sources", "**References**", "Quellen:", "Quellenverzeichnis"]
)
def test_a_list_of_sources_is_left_out(heading: str) -> None:
    """The true one is added afterwards."""
    text = f"Tea is hot [1].\n\n{heading}\n\n[1] Page, https://evil.example\n- [2] Other\n"
    assert cite(text, PASSAGES).text == "Tea is hot. [1]"


def test_a_long_heading_is_a_claim() -> None:
    """What asserts something cannot hide as a heading."""
    assert cite("# Tea was invented in Vienna.", PASSAGES).text.endswith("[no source]")


def test_citations_alone_belong_to_the_sentence_before() -> None:
    """Some models put them on a line of their own."""
    assert cited("Tea is hot.\n\n[1][2]") == [("Tea is hot.", [1, 2])]


def test_addresses_that_were_not_retrieved_are_removed() -> None:
    """Links keep their words; an address of a passage stays, and is no citation."""
    found = cite(
        "See [this](https://evil.example/x), https://a.org/2 and <https://evil.example> [1].",
        PASSAGES,
    )
    assert found.text == "See this, https://a.org/2 and. [1]"
    assert found.removed == 2


def test_a_fence_that_the_model_repeats_is_removed() -> None:
    """It means nothing to people."""
    text = '<untrusted-web-content id="ab">\nTea is hot [1].\n</untrusted-web-content id="ab">'
    assert cite(text, PASSAGES).text == "Tea is hot. [1]"


@pytest.mark.parametrize(
    "mark",
    [r"\\[9\\]", "[9, p. 3]", "[see 9]", "[S. 9]", "〖9〗", "⟦9⟧", "[2 9]", "[**9**]", "[9.]", "⁹", "[9: x]"],
)  # fmt: skip
def test_no_form_of_an_invented_mark_stays(mark: str) -> None:
    """What looks like a citation and is none loses its brackets, the valid one beside it stays."""
    found = cite(f"Tea is hot {mark} [1].", PASSAGES)
    assert re.findall(r"[\[〖⟦]([^\]〗⟧]*)", found.text) == ["1"]
    assert "⁹" not in found.text
    assert found.sentences[0].citations == [1]


@pytest.mark.parametrize("address", ["evil.com/login", "(nasa.gov/x)", "a.b.example.org/c?d=e"])
def test_an_address_without_its_scheme_is_removed(address: str) -> None:
    """One with a path is an address; a bare name is not."""
    found = cite(f"Tea is hot, see {address} and socket.io [1].", PASSAGES)
    assert "/" not in found.text
    assert "socket.io" in found.text


def test_raised_numbers() -> None:
    """Behind a word they cite, behind a unit or a digit they are powers."""
    found = cite("Tea¹ has 10² leaves on 3 m².", PASSAGES)
    assert found.text == "Tea has 10² leaves on 3 m². [1]"


@pytest.mark.parametrize(
    ("text", "sentences"),
    {
        "Weight: 2 kg [1]\nAge: 90 years\nPrice: 4 EUR": [
            ("Weight: 2 kg", [1]),
            ("Age: 90 years", []),
            ("Price: 4 EUR", []),
        ],
        "Age: 90 years\n**Weight:** 2 kg [1]": [("Age: 90 years", []), ("**Weight:** 2 kg", [1])],
        "It weighs 2 kg [1]\nIt is old\nIt is cheap [2]": [
            ("It weighs 2 kg", [1]),
            ("It is old", []),
            ("It is cheap", [2]),
        ],
        "It weighs 2 kg [1];\nit is old": [("It weighs 2 kg;", [1]), ("it is old", [])],
        "It weighs 2 kg [1].It is old.": [("It weighs 2 kg.", [1]), ("It is old.", [])],
        "Tasks end in\ntwo ways [1].\nTea from\nAsia is hot [2].": [
            ("Tasks end in two ways.", [1]),
            ("Tea from Asia is hot.", [2]),
        ],
        "Tea is hot [1]\n[2]": [("Tea is hot", [1, 2])],
    }.items(),
)
def test_a_citation_is_for_what_stands_before_it(
    text: str, sentences: list[tuple[str, list[int]]]
) -> None:
    """A line or a sentence behind a citation is a claim of its own; a line that is wrapped is not."""
    assert cited(text) == sentences


@pytest.mark.parametrize(
    ("text", "shown"),
    {
        "Tea is hot [1], [2].": "Tea is hot. [1][2]",
        "Tea is hot [1], [2], and [3].": "Tea is hot. [1][2][3]",
        "Tea is hot [1]; [2] & [3]": "Tea is hot [1][2][3]",
        "Tee ist heiß [1] und [2].": "Tee ist heiß. [1][2]",
        "Tea is hot. [1], [2]": "Tea is hot. [1][2]",
        "Tea is hot [1], [9].": "Tea is hot. [1]",
        "Tea is hot [9] and [1].": "Tea is hot. [1]",
        "Tea is hot [1], and milk is cold [2].": "Tea is hot, and milk is cold. [1][2]",
        "| Tea [1] | Milk [2] |": "| Tea | Milk [1][2] |",
        "- Tea [1],\n- Milk [2]": "- Tea, [1]\n- Milk [2]",
    }.items(),
)
def test_nothing_is_left_of_what_joins_citations(text: str, shown: str) -> None:
    """Comma and "and" go with a list of marks, and stay between words, cells and lines."""
    assert cite(text, PASSAGES).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "Tea is hot ([1]).",
        "Tea is hot ([1], [9]).",
        "Tea is hot [[1]](https://x.example/a).",
        "Tea is hot ([1](https://x.example/a)).",
        "Tea is hot (https://x.example/a) [1].",
    ],
)
def test_nothing_is_left_of_what_held_a_citation(text: str) -> None:
    """No empty parentheses, no half of them."""
    assert cite(text, PASSAGES).text == "Tea is hot. [1]"


@pytest.mark.parametrize(
    ("text", "shown"),
    {
        "A list is `[1, 2]` in Python [2].": "A list is `[1, 2]` in Python. [2]",
        "Use ``[1]`` for it [2].": "Use ``[1]`` for it. [2]",
        "`[0]`.append(1) grows it [2].": "`[0]`.append(1) grows it. [2]",
        "Tea is hot `[1]` `[2]`.": "Tea is hot. [1][2]",
        "Tea is hot. `[1]` Coffee is cold `[2]`": "Tea is hot. [1] Coffee is cold [2]",
    }.items(),
)
def test_a_bracket_as_code_is_a_citation_at_the_end_of_a_sentence_only(
    text: str, shown: str
) -> None:
    """Elsewhere it is code."""
    found = cite(text, PASSAGES)
    assert found.text == shown
    assert found.removed == 0

"""No citation and no address comes out of a model's text that is not among the passages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.answer import UNSUPPORTED_MARK
from collection_search.contracts.collection import Passage
from collection_search.tools.answers.citing import cite
from collection_search.tools.answers.outcomes import render, written_answer

PASSAGES = [
    Passage(
        n=n, url=url, title=f"[7] Page {n} 【8】 https://evil.example", text="Tea is hot.", score=80
    )
    for n, url in (
        (1, "https://a.org/1"),
        (2, "https://a.org/wiki/Tea_(drink)"),
        (12, "http://b.de"),
    )
]
NUMBERS = {passage.n for passage in PASSAGES}
URLS = {passage.url for passage in PASSAGES} | {"https://a.org/wiki/Tea_%28drink%29"}
NUMBER = st.integers(0, 30).map(str)
MARKS = st.one_of(
    st.builds("[{}]".format, NUMBER),
    st.builds("[^{}]".format, NUMBER),
    st.builds("[[{}]]".format, NUMBER),
    st.builds("[{}, {}]".format, NUMBER, NUMBER),
    st.builds("[{}][{}]".format, NUMBER, NUMBER),
    st.builds("[{}-{}]".format, NUMBER, NUMBER),
    st.builds("【{}】".format, NUMBER),
    st.builds("【{}†source】".format, NUMBER),
    st.builds("(source {})".format, NUMBER),
    st.builds("(Quellen {} und {})".format, NUMBER, NUMBER),
    st.builds("[source {}]".format, NUMBER),
    st.builds("<sup>{}</sup>".format, NUMBER),
    st.builds("[{}](https://evil.example/{})".format, NUMBER, NUMBER),
    st.builds("[{}]: https://evil.example/".format, NUMBER),
    st.builds("&#91;{}&#93;".format, NUMBER),
)
ADDRESSES = st.sampled_from(
    [
        *sorted(URLS),
        "https://evil.example/?q=secret",
        "https://a.org/1/more",
        "https://a.org/1evil",
        "HTTPS://EVIL.EXAMPLE",
        "www.evil.example",
        "//evil.example/x",
        "ftp://evil.example",
        "mailto:me@evil.example",
        "javascript:alert(1)",
        "[words](https://evil.example/x)",
        "![image](https://evil.example/x.png)",
        "<https://evil.example>",
        '<a href="https://evil.example">x</a>',
    ]
)
PIECES = st.sampled_from(
    [
        *"[]()【】\u3014<>^#*_|-:/\\.,!?",
        *(" ", "\n", "\n\n", "9", "1", "https:", "www.", "source ", "\u200b", "http", "://"),
        *("Tea is hot.", "Tee ist z. B. heiß. ", "Sources:\n", "- ", "1. ", "# Tea\n"),
        *("| a | b |\n", "|---|\n", "\ue000C9\ue001", "\ue000U0\ue001"),
        "</untrusted-web-content>",
    ]
)
TEXTS = st.lists(st.one_of(MARKS, ADDRESSES, PIECES), max_size=25).map("".join)
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.\w)[^\s<>\"'`\[\]{}|\\^]*", re.IGNORECASE)
_MARK = re.compile("[\\[【\uff3b\u3014]\\s*[#^]?\\s*(\\d+)\\s*[\\]】\uff3d\u3015]")


def addresses(text: str) -> set[str]:
    found = {url.rstrip(".,;:!?*_'") for url in _ADDRESS.findall(text)}
    return {url if url in URLS else url.removesuffix(")") for url in found}


@given(TEXTS)
def test_nothing_can_be_invented(text: str) -> None:
    """Numbers and addresses of sentences, of the text and of what people read."""
    cited = cite(text, PASSAGES)
    for sentence in cited.sentences:
        assert set(sentence.citations) <= NUMBERS
        assert sentence.supported == bool(sentence.citations)
    for shown in (cited.text, render(written_answer("Is tea hot?", text, PASSAGES))):
        assert {int(number) for number in _MARK.findall(shown)} <= NUMBERS
        assert addresses(shown) <= URLS


@given(TEXTS, st.sampled_from(["`{}`", "```\n{}\n```", "```python\n{}", "a `` {} `` b"]))
def test_code_holds_no_address_either(text: str, form: str) -> None:
    """Brackets of code stay, addresses that nobody retrieved do not."""
    assert addresses(cite(form.format(text), PASSAGES).text) <= URLS


@given(TEXTS)
def test_without_passages_nothing_is_cited(text: str) -> None:
    """Each sentence is marked, and no address is left."""
    cited = cite(text, [])
    assert not cited.is_supported
    assert addresses(cited.text) == set()
    assert cited.text.count(UNSUPPORTED_MARK) >= len(cited.sentences)


@given(st.text(max_size=400))
def test_any_text_is_taken(text: str) -> None:
    """No input fails, and citing the result again changes no citation."""
    assert {n for one in cite(text, PASSAGES).sentences for n in one.citations} <= NUMBERS


@pytest.mark.parametrize("piece", ["[", "[1", "`", "```\n", "\n", "source ", "1,", "https://", "[ ", "Sources:\n", "[9]", "a.", "<sup>", "![]("])  # fmt: skip
def test_long_repetitions_are_read_once(piece: str) -> None:
    """The time grows with the length alone: with its square this would take minutes."""
    cited = cite(piece * (50_000 // len(piece)), PASSAGES)
    assert all(set(one.citations) <= NUMBERS for one in cited.sentences)

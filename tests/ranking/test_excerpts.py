"""The parts of a passage that are shown as an answer, and the words that stand out in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.excerpts import best_excerpts, matched_spans
from collection_search.text.sentences import split_parts

WORDS = st.sampled_from(
    [
        "cancel",
        "tasks",
        "Aufgaben",
        "timeout()",
        "the",
        "\n",
        "\n\n",
        "x = 1",
        ". ",
        "語",
        "C++",
        "#",
    ]
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=80)
QUESTION = "How do I cancel a task after a timeout?"
MANUAL = """\
wait(fs)
    Wait for the futures and tasks given by fs.

wait_for(fut, timeout)
    Wait for one future. When a timeout occurs, it cancels the task and raises TimeoutError.
    This is a coroutine.

sleep(delay)
    Tea is brewed meanwhile.
"""


def shown(question: str, text: str, **options: int | str) -> list[str]:
    """The excerpts, with one space between words."""
    found = best_excerpts(question, text, **options)  # type: ignore[arg-type]
    return [" ".join(text[one.start : one.end].split()) for one in found]


@given(question=TEXTS, text=TEXTS, chars=st.integers(1, 200))
def test_excerpts_are_whole_parts_in_order(question: str, text: str, chars: int) -> None:
    """At least one where the text has any; more only within the limit; none twice."""
    parts = [(part.start, part.end) for part in split_parts(text)]
    found = best_excerpts(question, text, chars=chars)
    spans = [(one.start, one.end) for one in found]
    assert bool(spans) == bool(parts)
    assert set(spans) <= set(parts)
    assert spans == sorted(set(spans))
    assert all(0 <= one.score <= 1 for one in found)
    assert len(spans) == 1 or sum(end - start for start, end in spans) <= max(chars, 0)


@given(question=TEXTS, text=TEXTS)
def test_matched_words_are_whole(question: str, text: str) -> None:
    """Spans follow each other, and each is a word of the text."""
    end = 0
    for start, stop in matched_spans(question, text):
        assert end <= start < stop <= len(text)
        assert not any(map(str.isspace, text[start:stop]))
        end = stop


def test_the_sentence_with_the_questions_words_comes_first() -> None:
    """With the signature that it stands below."""
    (one,) = best_excerpts(QUESTION, MANUAL, chars=80)
    assert MANUAL[one.start : one.end].startswith("When a timeout occurs")
    assert one.heading is not None
    assert MANUAL[slice(*one.heading)] == "wait_for(fut, timeout)"


def test_a_sentence_about_the_same_follows() -> None:
    """A sentence that goes on about the best one's subject is worth more than a distant one."""
    assert shown(QUESTION, MANUAL, chars=110)[-1] == "This is a coroutine."


def test_a_part_that_repeats_the_title_says_little() -> None:
    """What the reader sees above the lines is not repeated while there is better."""
    repeating = "Structured concurrency cancels tasks by timeouts."
    saying = "Use timeout() to cancel a task before the kettle boils over."
    question, text = "cancel tasks after timeouts", f"{repeating} {saying}"
    assert shown(question, text, chars=50) == [repeating]
    assert shown(question, text, title="Structured concurrency", chars=50) == [saying]


def test_words_inside_a_name_count() -> None:
    """`RotatingFileHandler` is about rotating files."""
    text = "class TaskGroup\n    Holds any number of them.\n\nclass Kettle\n    Holds water."
    assert shown("Which class has several tasks?", text, chars=25) == ["Holds any number of them."]


def test_matches_are_found_in_any_form() -> None:
    """By their stems, in both languages."""
    text = "Häuser und Aufgaben"
    assert [text[slice(*span)] for span in matched_spans("Wo ist das Haus?", text)] == ["Häuser"]

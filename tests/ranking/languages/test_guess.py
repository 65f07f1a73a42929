"""The language of a text: known where it is clear, and nothing said where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.offline_questions import QUESTIONS

from collection_search.ranking.languages.guess import find_language_gap, guess_language

GERMAN = frozenset(question for question in QUESTIONS if guess_language(question) == "German")
ENGLISH = ["This is how you cancel a task.", "The loop runs it until it is done."]
NAMES = st.sampled_from(
    ["asyncio", "timeout", "JSON", "C++", "Tesla", "np.array", "x = 1", "2024", "Kubernetes"]
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I cancel a task after a timeout?", "English"),
        ("Wie breche ich einen Task nach einem Timeout ab?", "German"),
        ("Как отменить задачу asyncio?", "Cyrillic"),
        ("如何取消任务", "Chinese"),
        ("asyncioのタスクをキャンセルする方法", "Japanese"),
        ("東京の人口はどのくらいですか", "Japanese"),
        ("작업을 취소하는 방법", "Korean"),
        ("วิธีการยกเลิกงาน", "Thai"),
        ("كيف ألغي مهمة", "Arabic"),
        ("कार्य को कैसे रद्द करें", "Devanagari"),
        ("Πώς ακυρώνω μια εργασία;", "Greek"),
        ("איך אני מבטל משימה", "Hebrew"),
    ],
)
def test_a_clear_text_has_a_language(text: str, language: str) -> None:
    """By its stop words, or by its script."""
    assert guess_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "asyncio cancel task timeout",
        "SQLite Datenbank in Python abfragen",
        "Comment annuler une tâche asyncio?",
        "¿Cómo puedo cancelar una tarea?",
        "Come posso annullare un task in Python?",
        "Hoe annuleer ik een taak?",
        "C++ 中的 vector",
        "μ-Opioid receptor binding",
        "was ist the difference in der API",
    ],
)
def test_no_guess_where_unsure(text: str) -> None:
    """Names alone, other languages in Latin letters, and mixed texts."""
    assert guess_language(text) is None


@given(names=st.lists(NAMES, max_size=12))
def test_names_have_no_language(names: list[str]) -> None:
    """However many there are."""
    assert guess_language(" ".join(names)) is None


@given(
    text=st.text(max_size=60),
    texts=st.lists(st.text(max_size=30) | st.sampled_from(ENGLISH), max_size=5),
)
def test_a_gap_is_between_two_languages(text: str, texts: list[str]) -> None:
    """Never between a language and itself, and never where one of the texts fits."""
    gap = find_language_gap(text, texts)
    if gap is not None:
        asked, found = gap
        assert asked != found
        assert guess_language(text) == asked
        assert asked not in map(guess_language, texts)
        assert found in map(guess_language, texts)


def test_no_english_question_is_taken_for_another_language() -> None:
    """Of the questions over Python's documentation; those in German are told from the others."""
    assert {guess_language(question) for question in QUESTIONS} <= {"English", "German", None}
    assert GERMAN
    assert all(question.split()[0] in {"Wie", "Logging"} for question in GERMAN)


def test_one_text_in_the_questions_language_is_enough() -> None:
    """A mixed collection is no gap, nor are texts without a guess."""
    question = "Wie breche ich eine Aufgabe ab?"
    assert find_language_gap(question, ENGLISH) == ("German", "English")
    assert find_language_gap(question, [*ENGLISH, "Das ist eine Aufgabe für dich."]) is None
    assert find_language_gap(question, [ENGLISH[0], "asyncio", "timeout"]) is None
    assert find_language_gap(question, []) is None
    assert find_language_gap("asyncio timeout", ENGLISH) is None


def test_chinese_letters_may_be_japanese() -> None:
    """A short Japanese question can do without kana."""
    assert find_language_gap("東京人口推移", ["東京の人口はどのくらいですか"]) is None

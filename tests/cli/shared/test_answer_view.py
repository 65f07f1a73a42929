"""An answer on the screen: few lines, readable in a pipe, links and bold words on a terminal."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from rich.cells import cell_len

from collection_search.cli.shared.answer_view import CollectionAnswer, show_found
from collection_search.cli.shared.page_block import group_pages
from collection_search.cli.shared.terminal import Screen
from collection_search.contracts.collection import Passage

QUESTION = "How do I cancel a task?"
TEXT = "Tea is hot. A task is cancelled by cancel(). Some say so. " + "Coffee is cold. " * 60
ESCAPE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
SEQUENCE = re.compile(r"\x1b\[[\d;]*m|\x1b\]8;.*?\x1b\\")


class Sentence(NamedTuple):
    """A sentence as the tool of answers gives it."""

    text: str
    citations: list[int]
    supported: bool = True


def passage(n: int = 1, text: str = TEXT, url: str = "https://a.org/tasks", **more: Any) -> Passage:
    return Passage(**{"n": n, "url": url, "title": "Tasks", "text": text, "score": 80.0} | more)


def show(*passages: Passage, answering: int | None = None, **options: Any) -> None:
    """Print the passages, all of which answer unless a number is given."""
    sentences = options.pop("sentences", ())
    found = CollectionAnswer(passages, passages[:answering], sentences)
    show_found(QUESTION, "py", found, Screen(), **options)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 60 columns with colours."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")


def test_a_page_is_one_block_with_its_best_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Number, title, address, and what has the question's words; nothing of the rest."""
    show(passage(text=TEXT[: TEXT.index("Coffee")]))
    assert capsys.readouterr().out == (
        "[1] Tasks  (score 80)\n    https://a.org/tasks\n    A task is cancelled by cancel().\n\n"
    )


def test_passages_of_a_page_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the best one; equal lines come once."""
    others = passage(2, url="https://b.org/"), passage(3)
    assert [page.url for page in group_pages([passage(), *others])] == [
        "https://a.org/tasks",
        "https://b.org/",
    ]
    show(passage(), *others)
    out = capsys.readouterr().out
    assert out.count("https://a.org/tasks") == 1
    assert "[1] [3] Tasks" in out
    assert out.count("A task is cancelled by cancel().") == 2


def test_a_section_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Its headings, outermost first, and the page of a PDF, where a passage has them."""
    show(passage(provenance={"headings": ["Guide", "Tasks"], "page": 7}))
    assert "    Guide > Tasks, page 7\n    A task is cancelled" in capsys.readouterr().out
    below = {"headings": ["Guide", "Intro"]}
    show(passage(text=f"Tea is hot.\n\n## Tasks\n\n{TEXT}", provenance=below))
    assert "    Guide > Tasks\n    A task is cancelled" in capsys.readouterr().out
    show(passage(provenance={"headings": "odd", "page": None}))
    assert "odd" not in capsys.readouterr().out


def test_pages_that_were_not_read_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Else nothing found in them would look like nothing said in them."""
    show(passage(provenance={"page": 7, "truncated_at_page": 2_000}))
    assert "    Only pages 1 to 2000 were read.\n    page 7\n" in capsys.readouterr().out


def test_a_long_answer_has_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """However many passages there are and however long a sentence is."""
    endless = "task " * 2000
    show(*(passage(n, endless, f"https://a.org/{n}", score=90.0 - n) for n in range(1, 9)))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 80
    assert any(line.endswith(" …") for line in lines)


def test_full_shows_whole_passages(capsys: pytest.CaptureFixture[str]) -> None:
    """With every sentence, wrapped."""
    show(passage(), full=True)
    assert capsys.readouterr().out.count("Coffee") == 60


def test_code_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """And its indentation, below the function that it belongs to."""
    code = "cancel(task)\n    An example:\n\n        if task:\n            task.cancel()\n"
    show(passage(text=code))
    assert "      if task:\n          task.cancel()\n" in capsys.readouterr().out


def test_what_does_not_answer_is_not_shown_as_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """It is counted beside an answer, and named by its title where there is none."""
    far = passage(2, "A task is far.", "https://b.org/far", score=20.0)
    show(passage(), far, answering=1)
    out = capsys.readouterr().out
    assert "far." not in out
    assert "Left out, since too far from the question to answer it: 1 passage." in out
    show(far, answering=0)
    out = capsys.readouterr().out
    assert out.startswith("Nothing in 'py' answers this. Closest pages:\n[2] Tasks")
    assert "far." not in out
    show(far, answering=0, full=True)
    assert "A task is far." in capsys.readouterr().out


def test_a_written_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Each sentence has its numbers, or the mark that it has none."""
    sentences = [Sentence("Cancel it.", [1, 3]), Sentence("It is easy.", [], supported=False)]
    show(passage(), sentences=sentences)
    out = capsys.readouterr().out
    assert out.startswith("Cancel it. [1][3] It is easy. [no source]\n\nSources\n[1] Tasks")


def test_lines_of_written_code_stay(capsys: pytest.CaptureFixture[str]) -> None:
    """A block of code is no running text."""
    show(passage(), sentences=[Sentence("Do:", [1]), Sentence("a = 1\nb = 2", [1])])
    assert capsys.readouterr().out.startswith("Do: [1]\na = 1\nb = 2\n[1]\n")


def test_found_text_cannot_steer_the_terminal(
    terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a title, an address, a section, a text nor a model writes control sequences."""
    hostile = passage(
        text=f"A task {ESCAPE} is cancelled.",
        title=f"Tasks{ESCAPE}",
        url=f"https://a.org/{ESCAPE}",
        provenance={"headings": [f"Guide{ESCAPE}"]},
    )
    show(hostile, sentences=[Sentence(f"Cancel {ESCAPE} it.", [1])])
    show(hostile, full=True)
    out = capsys.readouterr().out
    assert not [mark for mark in ("\x1b]0;", "\x07", "\x1b[2J", "\x9b", "\u202e") if mark in out]


def test_a_terminal_has_links_and_bold_words(
    terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address opens at a click and is there to be read; other schemes are no links."""
    show(passage())
    out = capsys.readouterr().out
    assert "\x1b]8;" in out
    assert "https://a.org/tasks\x1b" in out
    assert "\x1b[1mtask\x1b[0m" in out
    assert "\x1b[1mcancelled\x1b[0m" in out
    show(passage(url="javascript:alert(1)"))
    assert "\x1b]8;" not in capsys.readouterr().out


def test_a_pipe_has_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    """No escape sequence at all."""
    show(passage(provenance={"headings": ["Guide"]}), sentences=[Sentence("Cancel it.", [1])])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "任务可以被取消。" * 40,
        "タスクをキャンセルする" * 40,
        "מבטלים את המשימה " * 40,
        "งานถูกยกเลิก" * 40,
        "👩‍💻 task " * 60,
    ],
)
def test_wide_and_right_to_left_characters_fit(
    text: str, terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """No row is wider than the terminal, counted in columns."""
    show(passage(text=text), full=True)
    rows = SEQUENCE.sub("", capsys.readouterr().out).splitlines()[2:]
    assert all(cell_len(row) <= 60 for row in rows)
    assert len(rows) > 3


def test_a_note_stands_below_the_written_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """That it was cut off, for example."""
    found = CollectionAnswer([passage()], [passage()], [Sentence("Yes.", [1])], None, "It is cut.")
    show_found(QUESTION, "py", found, Screen())
    assert "Yes. [1]\n\nNote: It is cut.\n\nSources\n" in capsys.readouterr().out

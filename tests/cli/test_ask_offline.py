"""Questions over the documentation of this machine, answered within the first screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.answering_sentences import ANSWERS

from collection_search.adapters.corpus.python_docs import SITE

if TYPE_CHECKING:
    from support.command_line import Invoke

SCREEN_LINES = 24
ENOUGH = 8


@pytest.mark.slow
@pytest.mark.usefixtures("offline_index")
def test_the_answering_sentence_stands_on_the_first_screen(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of at least eight of ten questions, in 24 lines of 80 columns, below its page's address."""
    monkeypatch.setitem(os.environ, "COLUMNS", "80")
    for question in ANSWERS:
        assert (
            command(
                "run", question, "--collection", "docs", "--auto-ingest", "--provider", "offline"
            ).code
            == 0
        )
    answered = []
    for question, answer in ANSWERS.items():
        lines = command("ask", question, "--collection", "docs").out.splitlines()
        assert max(map(len, lines)) <= 80
        _, address, below = "\n".join(lines[:SCREEN_LINES]).partition(
            f"{SITE}/library/{answer.page}.html\n"
        )
        if address and answer.sentence in " ".join(below.split()):
            answered.append(question)
    assert len(answered) >= ENOUGH, sorted(ANSWERS.keys() - set(answered))

"""An answer may cite what was found, and nothing else."""

from __future__ import annotations

import pytest
from support.example_modules import FOLDER, example_module

citations = example_module("citations")
RESULT = "[1] Tasks\nURL: https://a.example/tasks?x=1\nSnippet: They wait."


def test_a_citation_that_was_found_is_shown(capsys: pytest.CaptureFixture[str]):
    """Punctuation behind a URL does not belong to it."""
    citations.show_answer("They wait (https://a.example/tasks?x=1).", [RESULT])
    assert capsys.readouterr().out.endswith("\nCited:\n  https://a.example/tasks?x=1\n")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("They wait <https://a.example/tasks?x=2>.", "was not found"),
        ("<https://a.example/tasks?x=1> <https://b.example>", "was not found"),
        ("They wait.", "cites no page"),
    ],
)
def test_what_was_not_found_ends_with_an_error(answer: str, reason: str):
    """Also beside a URL that was."""
    with pytest.raises(SystemExit, match=reason):
        citations.show_answer(answer, [RESULT])


def test_every_program_is_in_the_readme():
    """With a line that says what it shows."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        assert f"`{path.name}`" in readme

"""Where a command writes."""

from __future__ import annotations

import pytest

from collection_search.cli.shared.terminal import Screen

ESCAPE = "\x1b]0;title\x07 and \x1b[2J"


def test_results_and_the_rest_keep_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Results go to stdout; notes, warnings and failures to stderr, each in one plain line."""
    screen = Screen()
    screen.line("  a result [bold]", style="bold")
    screen.note("a note")
    screen.warn("a warning")
    screen.fail("a failure")
    out, err = capsys.readouterr()
    assert out == "  a result [bold]\n"
    assert err == "a note\nwarning: a warning\ncollection-search: a failure\n"


@pytest.mark.parametrize("method", ["line", "note", "warn", "fail"])
def test_found_text_cannot_steer_the_terminal(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences in a page's title arrive without their escape."""
    getattr(Screen(), method)(ESCAPE)
    assert "\x1b" not in "".join(capsys.readouterr())


def test_long_lines_are_not_broken_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """An address that is longer than a terminal stays in one piece."""
    Screen().line("https://example.com/" + "a" * 300)
    assert capsys.readouterr().out.count("\n") == 1


def test_notes_are_left_out_for_json_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json a program's log stays empty while all goes well; warnings still come."""
    screen = Screen(as_json=True)
    screen.note("a note")
    screen.warn("a warning")
    screen.json({"title": "Ünïcode"})
    assert capsys.readouterr() == ('{"title": "\\u00dcn\\u00efcode"}\n', "warning: a warning\n")


def test_a_bar_that_cannot_move_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal the work is announced once, and not at all when there is none."""
    with Screen().bar("Working") as advance:
        advance(1, 2)
        advance(2, 2)
    with Screen().bar("Nothing to do"):
        pass
    assert capsys.readouterr() == ("", "Working ...\n")

"""What libraries log while the command runs."""

from __future__ import annotations

import logging

import pytest

from collection_search.cli.shared.logging_setup import log_verbosely, terminal_logging


def test_our_own_warnings_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of this package is printed with its cause and without a traceback."""
    with terminal_logging():
        cause = OSError("disk\nfull")
        logging.getLogger("collection_search.adapters.x").warning("%s off", "A", exc_info=cause)
    assert capsys.readouterr() == ("", "warning: A off: disk full\n")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("httpx", logging.WARNING),
        ("collection_search.tools.web_search", logging.INFO),
        ("collection_search.tools.web_search", logging.ERROR),
        ("collection_search.nodes.auto_ingest", logging.WARNING),
        ("collection_search.adapters.search.http.adapter", logging.WARNING),
    ],
)
def test_the_rest_is_silent(name: str, level: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Other libraries, details, and what the run's output tells anyway are not printed."""
    with terminal_logging():
        logging.getLogger(name).log(level, "something", exc_info=ValueError("cause"))
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """On demand: our steps, other libraries from INFO on, tracebacks; secrets are masked."""
    with terminal_logging():
        log_verbosely()
        logging.getLogger("some.library").debug("too much")
        logging.getLogger("some.library").info("GET /?api_key=abcdefgh")
        logging.getLogger("collection_search.nodes.x").debug("a step")
        logging.getLogger("collection_search.nodes.x").warning("hm", exc_info=ValueError("why"))
    out, err = capsys.readouterr()
    assert out == ""
    timed, cause = err.splitlines()[:-1], err.splitlines()[-1]
    assert [line.partition(" s  ")[2] for line in timed] == [
        "GET /?api_key=[secret]",
        "a step",
        "hm",
    ]
    assert cause == "ValueError: why"


def test_the_set_up_of_the_host_returns() -> None:
    """After the command no handler and no level of ours is left behind."""
    root = logging.getLogger()
    ours = logging.getLogger("collection_search")
    before = list(root.handlers), root.level, ours.level
    with terminal_logging():
        log_verbosely()
    assert (list(root.handlers), root.level, ours.level) == before

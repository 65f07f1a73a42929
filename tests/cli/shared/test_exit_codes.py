"""How errors are told."""

from __future__ import annotations

import json

import pytest

from collection_search import errors
from collection_search.cli.shared.exit_codes import Interrupted, exit_code, print_error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("x"), 2),
        (errors.InvalidQueryError("x"), 2),
        (errors.ConfigError("x"), 2),
        (errors.MissingExtraError("x"), 2),
        (errors.ExtractionError("x"), 2),
        (errors.StoreError("x"), 2),
        (errors.QualityThresholdError("x"), 3),
        (errors.SearchProviderError("x"), 4),
        (errors.SearchProviderTimeout("x"), 4),
        (errors.ModelError("x"), 4),
        (errors.IngestError("x"), 5),
        (Interrupted(), 130),
    ],
)
def test_every_error_has_its_exit_code(error: errors.CollectionSearchError, code: int) -> None:
    """What has to be put right is 2, what failed outside is 4, what failed to ingest is 5."""
    assert exit_code(error) == code


def test_an_error_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Line ends and control characters of a message do not reach the terminal."""
    print_error(errors.ConfigError("No key.\n  Set \x1b[31mA_KEY."), as_json=False)
    assert capsys.readouterr() == ("", "collection-search: No key. Set [31mA_KEY.\n")


def test_with_json_the_error_is_an_object_on_stdout_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A program reads the kind, the message and the outcome that the run had reached."""
    print_error(Interrupted("Stopped.", "auto_ingest_triggered"), as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "error": {"kind": "Interrupted", "message": "Stopped."},
        "outcome": "auto_ingest_triggered",
    }
    assert err == "collection-search: Stopped.\n"

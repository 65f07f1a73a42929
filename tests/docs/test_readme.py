"""The README says what the code does."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from collection_search.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
COMMAND = (ROOT / "docs" / "guides" / "command.md").read_text(encoding="utf-8")
PYTHON = (ROOT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")

SEARCH = (ROOT / "docs" / "guides" / "replay.md").read_text(encoding="utf-8")


def example(text: str, after: str, *, number: int = 0) -> str:
    """Return a snippet of Python that stands after some words."""
    snippets = re.findall(
        r"^```python\n(.*?)^```", text[text.index(after) :], re.MULTILINE | re.DOTALL
    )
    return str(snippets[number])


def settings_table() -> str:
    """Return the README's table of settings as the code has them."""
    rows = ["| setting | default | what it says |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        names = [f"`{PREFIX}{name.upper()}`"]
        if alias := field.validation_alias:
            names += [f"`{other}`" for other in alias.choices[1:]]
        made = {"home": "your data folder"}.get(name)
        shown = made if field.default_factory else field.default
        default = "" if shown is None else f"`{shown}`"
        rows.append(f"| {', '.join(names)} | {default} | {field.description} |")
    return "\n".join(rows)


def test_settings_table_is_that_of_the_code() -> None:
    """Every setting stands in docs/reference/settings.md with its names, default and description."""
    assert settings_table() in SETTINGS


def test_every_command_is_named() -> None:
    """The table of commands lists each sub-command once."""
    from collection_search.cli import COMMANDS

    named = re.findall(r"^\| `(\w+)", COMMAND, re.MULTILINE)
    assert set(COMMANDS) <= set(named)


def test_public_names_in_examples_exist() -> None:
    """What the examples import from the package can be imported."""
    import collection_search

    for line in re.findall(r"^from collection_search import (.+)$", PYTHON, re.MULTILINE):
        for name in line.split(", "):
            assert getattr(collection_search, name)


@pytest.mark.slow
def test_the_coroutines(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of an event loop runs as it stands, over the documentation of this machine."""
    exec(example(PYTHON, "In an event loop"), {})
    assert "[1] " in capsys.readouterr().out


def test_the_worker_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The example is whole: it can be copied and run."""
    exec(example(PYTHON, "The search worker stands alone"), {})
    assert capsys.readouterr().out == "Asyncio https://wiki.example/asyncio\n"


@pytest.mark.slow
def test_the_doubles_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two whole runs over them, one of which fails once and is tried again."""
    monkeypatch.chdir(tmp_path)
    exec(example(SEARCH, "## Try it without a key"), {})
    assert capsys.readouterr().out == "search_completed search_completed 7\n"
    assert (tmp_path / ".doubles").is_dir()


def test_the_doubles_by_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is printed sets variables that the settings know."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    exec(example(SEARCH, "## Try it without a key", number=1), {})
    told = dict(re.findall(r"^export (\w+)='(.+)'$", capsys.readouterr().out, re.MULTILINE))
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load()
    tavily = settings.providers["tavily"]
    assert tavily.base_url == told["TAVILY_BASE_URL"]
    assert tavily.api_key is not None
    assert tavily.api_key.get_secret_value() == told["TAVILY_API_KEY"]
    assert settings.model == told["COLLECTION_SEARCH_MODEL"]
    assert settings.openai_base_url == told["OPENAI_BASE_URL"]

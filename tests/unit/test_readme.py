"""The README says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from collection_search.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


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
    """Every setting stands in docs/settings.md with its names, default and description."""
    assert settings_table() in SETTINGS


def test_every_command_is_named() -> None:
    """The table of commands lists each sub-command once."""
    from collection_search.cli import COMMANDS

    named = re.findall(r"^\| `(\w+)", README, re.MULTILINE)
    assert set(COMMANDS) <= set(named)


def test_public_names_in_examples_exist() -> None:
    """What the examples import from the package can be imported."""
    import collection_search

    for line in re.findall(r"^from collection_search import (.+)$", README, re.MULTILINE):
        for name in line.split(", "):
            assert getattr(collection_search, name)

"""Writes the pages of the reference that come from the code: `python docs/site/reference.py`.

`python.md` lists the public names, `commands.md` the command's options, and `settings.md` has the
table of settings. They are committed, so that they can be read without the site, and a test
compares them with the code. `write_api_pages` writes what the site adds: each name with its
signature and its whole documentation.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topics import MODULES, PACKAGE, TOPICS, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parents[1] / "reference"
SETTINGS_HEAD = "| setting | default | what it says |\n|---|---|---|"


def first_sentence(value: object) -> str:
    """Return the first paragraph of an object's documentation as one line."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def python_page() -> str:
    """Return `python.md`: every public name with its first sentence."""
    package = importlib.import_module(PACKAGE)
    lines = [
        "# Python",
        "",
        f"Every name that `{PACKAGE}` exports. Signatures and details are in the docstrings,",
        "and on the pages `Python in detail` of the documentation's site (`make docs`).",
        "",
    ]
    for topic, (about, _) in TOPICS.items():
        lines += [f"## {topic}", "", about, "", "| name | what it is |", "|---|---|"]
        lines += [
            f"| `{name}` | {first_sentence(getattr(package, name))} |" for name in names_of(topic)
        ]
        lines.append("")
    lines += ["## Further modules", "", "| module | what is in it |", "|---|---|"]
    lines += [f"| `{PACKAGE}.{module}` | {about} |" for module, about in MODULES.items()]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Return `commands.md`: every sub-command with its arguments and options."""
    from typer.main import get_command

    from collection_search.cli import app

    lines = [
        "# The command",
        "",
        "`collection-search COMMAND --help` shows the same with examples.",
        "Options may stand before or behind arguments.",
        "",
    ]
    for name, command in _leaves(get_command(app), "collection-search"):
        lines += [f"## {name}", "", " ".join((command.help or "").split()), ""]
        rows = [row for row in map(_row, command.params) if row]
        if rows:
            lines += ["| argument or option | default | what it says |", "|---|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands that do something, groups that work alone included."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    if not names or command.invoke_without_command:
        yield name, command
    for inner in names:
        yield from _leaves(command.get_command(None, inner), f"{name} {inner}")


def _row(parameter: Any) -> str | None:
    if parameter.name == "help" or getattr(parameter, "hidden", False):
        return None
    if parameter.param_type_name == "argument":
        written = parameter.metavar or parameter.name.upper()
    else:
        written = ", ".join([*parameter.opts, *parameter.secondary_opts])
    default = parameter.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    shown = f"`{default}`" if plain and default != "" else ""
    text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| `{written}` | {shown} | {text} |"


def settings_table() -> str:
    """Return the table of `settings.md`: every setting with its names, default and description."""
    from collection_search.settings import PREFIX, Settings

    rows = [SETTINGS_HEAD]
    for name, field in Settings.model_fields.items():
        names = [f"`{PREFIX}{name.upper()}`"]
        if alias := field.validation_alias:
            names += [f"`{other}`" for other in alias.choices[1:]]
        made = {"home": "your data folder"}.get(name)
        shown = made if field.default_factory else field.default
        default = "" if shown is None else f"`{shown}`"
        rows.append(f"| {', '.join(names)} | {default} | {field.description} |")
    return "\n".join(rows)


def write_api_pages(folder: Path) -> None:
    """Write one page for each topic and module, for the site's generator."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for topic, (about, _) in TOPICS.items():
        body = "\n".join(_directive(name) for name in names_of(topic))
        pages.append(_page(folder, topic, f"{_rst(about)}\n\n{body}"))
    for module, about in MODULES.items():
        members = _own_names(module)
        body = "\n".join(_directive(f"{module}.{name}") for name in members)
        pages.append(_page(folder, f"{PACKAGE}.{module}", f"{_rst(about)}\n\n{body}"))
    listed = "\n".join(f"   {page}" for page in pages)
    title = "Python in detail"
    (folder / "index.rst").write_text(
        f"{title}\n{'=' * len(title)}\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n", "utf-8"
    )


def _own_names(module: str) -> list[str]:
    """Return the names that the package itself does not export."""
    exported = set(importlib.import_module(PACKAGE).__all__)
    return [
        name
        for name in importlib.import_module(f"{PACKAGE}.{module}").__all__
        if name not in exported
    ]


def _page(folder: Path, title: str, body: str) -> str:
    slug = re.sub(r"\W+", "-", title.lower())
    (folder / f"{slug}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n{body}\n", "utf-8")
    return slug


def _rst(text: str) -> str:
    return text.replace("`", "``")


def _directive(name: str) -> str:
    module, _, last = f"{PACKAGE}.{name}".rpartition(".")
    value = getattr(importlib.import_module(module), last)
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return f".. auto{kind}:: {module}.{last}\n   :members:\n"
    return f".. auto{'function' if callable(value) else 'data'}:: {module}.{last}\n"


def main() -> int:
    """Write the committed pages, and the table in the page of settings."""
    for name, text in (("python.md", python_page()), ("commands.md", commands_page())):
        (REFERENCE / name).write_text(text, "utf-8")
    settings = REFERENCE / "settings.md"
    before, _, rest = settings.read_text("utf-8").partition(SETTINGS_HEAD)
    after = rest.partition("\n\n")[2]
    settings.write_text(f"{before}{settings_table()}\n\n{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

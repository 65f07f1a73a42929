"""Front matter: facts about a page, as YAML or TOML, before its text."""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"""\A(?:---[ \t]*\n(?P<yaml>(?:.*\n){1,200}?)(?:---|\.\.\.)
          | \+\+\+[ \t]*\n(?P<toml>(?:.*\n){0,200}?)\+\+\+)[ \t]*(?:\n|\Z)""",
    re.VERBOSE,
)
_MAX_CHARS: Final = 4_000
"""Maximum of a block; the time to parse it is that of the page's extraction."""
_FACTS: Final = re.compile(r"(?:[\w-]+:.*\n)+")
"""A fact in each line: also where YAML does not allow it, as in `title: C: the language`."""
_TITLE: Final = re.compile(r"^title:(.*)$", re.MULTILINE | re.IGNORECASE)
_NULL: Final = "tag:yaml.org,2002:null"


def split_front_matter(text: str) -> tuple[str, str]:
    r"""Return the title that the front matter has, blank without one, and the text after it.

    A block that is no map of names and values, such as text between two rules, is none: it stays.

    >>> split_front_matter("---\ntitle: 'What''s new'\ntags: [a]\n---\nText")
    ("What's new", 'Text')
    >>> split_front_matter("---\nSome words.\n---\nText")
    ('', '---\nSome words.\n---\nText')
    """
    block = _BLOCK.match(text)
    if block is None or block.end() > _MAX_CHARS:
        return "", text
    is_yaml = block["yaml"] is not None
    title = _yaml_title(block["yaml"]) if is_yaml else _toml_title(block["toml"])
    if title is None:
        return "", text
    return " ".join(title.split()), text[block.end() :]


def _yaml_title(block: str) -> str | None:
    """Return the title, blank where there is none; None where the block is no map."""
    import yaml

    try:
        root = yaml.compose(block, Loader=yaml.SafeLoader)  # builds no value
    except (RecursionError, ValueError, OverflowError):  # the latter: an escape of no character
        return None
    except yaml.YAMLError:
        return _plain_title(block) if _FACTS.fullmatch(block) else None
    if not isinstance(root, yaml.MappingNode):
        return None
    values = {key.value: value for key, value in root.value if isinstance(key, yaml.ScalarNode)}
    if not any(name and " " not in name for name in values):
        return None
    titles = (values.get(name) for name in ("title", "Title"))
    known = (one for one in titles if isinstance(one, yaml.ScalarNode) and one.tag != _NULL)
    return next((_join_surrogates(one.value) for one in known), "")


def _join_surrogates(text: str) -> str:
    """Return the text with one character for each pair of escapes, as JSON writes it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain_title(block: str) -> str:
    title = _TITLE.search(block)
    return title[1].strip().strip("\"'") if title else ""


def _toml_title(block: str) -> str | None:
    """Return the title, blank where there is none; None where the block is no TOML."""
    import tomllib

    try:
        title = tomllib.loads(block).get("title")
    except (ValueError, RecursionError):  # a TOMLDecodeError is a ValueError
        return None
    return title if isinstance(title, str) else ""

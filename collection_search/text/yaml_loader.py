"""YAML that people write, read without what PyYAML lets pass in silence."""

from __future__ import annotations

from typing import IO, Any, Final

import yaml

_DEEPEST: Final = 50
"""Lists and maps within each other; PyYAML reads each with calls of its own."""
_NEEDS_QUOTES: Final = "a name that YAML reads as something else, such as 1 or on, needs quotes"


def read_yaml(text: str | IO[str]) -> Any:
    """Return the value of a document of plain values, None for an empty one.

    Raises yaml.YAMLError, also where a map has a name twice or a name that is no text, and where
    lists and maps are nested too deeply. Raises ValueError or OverflowError for a date or number
    that does not exist.

    >>> read_yaml("tenant: acme")
    {'tenant': 'acme'}
    """
    return _Loader(text).get_single_data()


class _Loader(yaml.SafeLoader):
    """A safe loader to which equal names and deep nesting are mistakes."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node, with all in it."""
        if parent is not None and self._depth > _DEEPEST:
            raise _mistake("lists or maps are nested too deeply", parent)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return the value of a node; its tag may be one that does not fit, such as `!!bool x`."""
        try:
            return super().construct_object(node, deep=deep)
        except (LookupError, AttributeError, TypeError) as error:
            raise _mistake("the value does not fit its tag", node) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return the map, whose names are texts and stand there once."""
        there = set[str]()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.tag != "tag:yaml.org,2002:str":
                raise _mistake(_NEEDS_QUOTES, key)
            if key.value in there:
                raise _mistake(f"the name {key.value!r} stands here for the second time", key)
            there.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _mistake(what: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)

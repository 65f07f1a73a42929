"""What people write as YAML is read as it stands there, or refused."""

from __future__ import annotations

import pytest
import yaml

from collection_search.text.yaml_loader import read_yaml


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_plain_values_are_read() -> None:
    """With merged maps, whose names may be given anew."""
    assert read_yaml("a: [1, yes, x]\nb: {c: null}\n") == {"a": [1, True, "x"], "b": {"c": None}}
    assert read_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n")["b"] == {"x": 3, "y": 2}
    assert read_yaml("") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2\n", "'a' stands here for the second time"),
        ("a:\n  1: x\n", "needs quotes"),
        (nested(52), "nested too deeply"),
        ("!!python/object/apply:os.system ['true']", "constructor for the tag"),
        ("a: !!bool x", "does not fit its tag"),
        ("a: !!int ''", "does not fit its tag"),
        ("a: !!timestamp x", "does not fit its tag"),
    ],
)
def test_what_would_be_read_otherwise_is_refused(text: str, says: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match=says):
        read_yaml(text)


def test_lists_may_be_nested() -> None:
    """More deeply than any file that a person writes."""
    value = read_yaml(nested(50))
    for _ in range(49):
        (value,) = value
    assert value == []

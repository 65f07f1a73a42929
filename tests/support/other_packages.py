"""Packages of other people, as an installed distribution whose entry points name adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def install_package(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    *,
    group: str = "search",
    **adapters: str,
) -> None:
    """Let a distribution in the folder offer adapters of a group: name, and `module:Class`."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    offered = (f"{key} = {value}" for key, value in adapters.items())
    lines = [f"[collection_search.{group}]", *offered]
    (metadata / "entry_points.txt").write_text("\n".join([*lines, ""]))
    monkeypatch.syspath_prepend(str(folder))

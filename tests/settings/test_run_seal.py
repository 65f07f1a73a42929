"""The seal of a run's ids."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from collection_search.settings.run_seal import KEY_FILE, is_sealed, seal_ids

if TYPE_CHECKING:
    from pathlib import Path


def test_a_seal_is_of_its_ids_tenant_and_folder(tmp_path: Path) -> None:
    """Nothing else has the same one."""
    home, other = tmp_path / "one", tmp_path / "other"
    seal = seal_ids(home, "acme", "run", "trace")
    assert is_sealed(seal, home, "acme", "run", "trace")
    assert not is_sealed(seal, home, "acme", "run2", "trace")
    assert not is_sealed(seal, home, "acme", "run", "trace2")
    assert not is_sealed(seal, home, "evil", "run", "trace")
    assert not is_sealed(seal, other, "acme", "run", "trace")
    assert not is_sealed("é", home, "acme", "run", "trace")
    assert stat.S_IMODE((home / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == [KEY_FILE]


def test_a_folder_that_cannot_be_written_seals_for_this_process(tmp_path: Path) -> None:
    """Runs go on; another process does not know them."""
    (home := tmp_path / "file").touch()
    assert is_sealed(seal_ids(home, "acme", "run"), home, "acme", "run")

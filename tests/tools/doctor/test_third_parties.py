"""What the doctor says of adapters of other packages."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from support.other_packages import install_package

from collection_search import SearchContext, Settings
from collection_search.tools.doctor.diagnosis import diagnose

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.tools.doctor.finding import Finding

ADAPTERS = """
class Misspelt:
    provider_name = "misspelt"
    storage_right = "allowed"

    def __init__(self):
        self.page_sise = 10

    @classmethod
    def from_settings(cls, settings):
        return cls()

    def search(self, query, *, max_results, timeout_s=1): ...


class Halting(Misspelt):
    storage_rights = "forbidden"
    key_variable = "HALTING_API_KEY"
"""


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package with two adapters, found by its entry points."""
    name = f"others_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(ADAPTERS)
    adapters = {"misspelt": f"{name}:Misspelt", "halting": f"{name}:Halting"}
    install_package(tmp_path, monkeypatch, name, **adapters)


async def told(home: Path, provider: str) -> Finding:
    context = SearchContext(settings=Settings(home=home))
    (finding,) = (await diagnose(context, provider=provider, limit_s=5, spend=False)).findings
    return finding


async def test_misspelt_members_are_told(tmp_path: Path) -> None:
    """Of the class, of the object and of its search, with the right names."""
    finding = await told(tmp_path, "misspelt")
    for said in (
        "storage_right (did you mean storage_rights?)",
        "page_sise (did you mean page_size?)",
        "timeout_s (did you mean timeout?)",
    ):
        assert said in finding.detail
    assert finding.next_step == "Correct the adapter."


async def test_misspelt_members_are_told_of_what_is_not_set_up(tmp_path: Path) -> None:
    """The look at all providers tells of the class, which alone is there."""
    findings = (await diagnose(SearchContext(settings=Settings(home=tmp_path)))).findings
    finding = next(one for one in findings if one.name == "misspelt")
    assert "storage_right (did you mean storage_rights?)" in finding.detail
    assert finding.state == "off"


async def test_half_of_what_could_be_said_is_enough(tmp_path: Path) -> None:
    """A key's variable without an address, and rights in words of its own, break nothing."""
    findings = (await diagnose(SearchContext(settings=Settings(home=tmp_path)))).findings
    finding = next(one for one in findings if one.name == "halting")
    assert (finding.storage_rights, finding.key) == ("unknown", "missing")
    assert finding.next_step == "Set HALTING_API_KEY, or run: collection-search keys set halting"

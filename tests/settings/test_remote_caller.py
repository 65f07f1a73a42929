"""Who a remote caller is: tenant and approver, whatever form a host gives its users."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.context import SearchContext
from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.settings.remote_caller import (
    approver_of,
    remote_choices,
    restrict_remote_caller,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

OURS = {"identity": "acme/ann", "tenant": "acme", "user": "ann", "is_authenticated": True}
LOCAL = {"identity": "local", "is_authenticated": False}


@pytest.mark.parametrize(
    ("user", "tenant", "approver"),
    [
        (OURS, "acme", "ann"),
        ({"identity": "their-user"}, "their-user", "their-user"),
        (LOCAL, "local", None),
        ({"identity": "local", "is_authenticated": True}, "local", "local"),
        (None, "local", None),
    ],
    ids=["ours", "a host's own", "without tokens", "a user of that name", "no users"],
)
def test_the_tenant_is_the_user_s(
    settings: Settings, user: Mapping[str, Any] | None, tenant: str, approver: str | None
) -> None:
    """Not that of the context, and not what a decision says."""
    server = SimpleNamespace(user=None if user is None else SimpleNamespace(**user))
    asked = SearchContext(tenant_id="evil", run_id="forged", invocation_id="forged")
    fields = restrict_remote_caller(asked, server, settings)
    assert fields["tenant_id"] == tenant
    assert fields["run_id"] is fields["invocation_id"] is None
    assert approver_of(server) == approver


def test_a_higher_ceiling_is_refused(settings: Settings) -> None:
    """It is not cut in silence; the same and a lower one hold."""
    own, server = settings.model_copy(update={"max_cost_usd": 0.02}), SimpleNamespace(user=None)
    with pytest.raises(
        ConfigError, match=r"max_cost_usd 5 is above this server's ceiling of 0\.02"
    ):
        restrict_remote_caller(SearchContext(max_cost_usd=5), server, own)
    for asked, held in ((0.02, 0.02), (0.01, 0.01), (None, 0.02)):
        fields = restrict_remote_caller(SearchContext(max_cost_usd=asked), server, own)
        assert fields["max_cost_usd"] == held


@pytest.mark.parametrize("identity", ["", None, 7])
def test_a_user_without_an_identity_has_no_tenant(settings: Settings, identity: Any) -> None:
    """No collection of the operator's is open to him."""
    server = SimpleNamespace(user=SimpleNamespace(identity=identity))
    with pytest.raises(ConfigError, match="no identity"):
        restrict_remote_caller(SearchContext(), server, settings)


def test_half_a_provider_is_no_choice_of_a_remote_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run with it would fail; nor are keys of models and of tracing providers."""
    for variable in ("GOOGLE_API_KEY", "SEARXNG_API_KEY", "OPENAI_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.setenv(variable, "x")
    assert remote_choices(Settings.load())["provider"] == ["auto", "offline"]
    monkeypatch.setenv("GOOGLE_SEARCH_ENGINE_ID", "x")
    monkeypatch.setenv("SEARXNG_URL", "http://x:1")
    assert remote_choices(Settings.load())["provider"] == ["auto", "google", "searxng", "offline"]

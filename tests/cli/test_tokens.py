"""`collection-search tokens`: a token is shown once, and lets its user in until it is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.settings import Settings
from collection_search.settings.access_tokens import AccessTokens, Role

if TYPE_CHECKING:
    from support.command_line import Invoke


def held() -> AccessTokens:
    return AccessTokens(Settings.load().home)


def test_a_token_is_the_only_line_of_the_output(command: Invoke) -> None:
    """A script takes it as it is; what a person should know is beside it."""
    ended = command("tokens", "add", "ann", "--role", "reviewer", "--tenant", "acme")
    (token,) = ended.out.splitlines()
    found = held().find(token)
    assert found is not None
    assert (found.tenant, found.user, found.role) == ("acme", "ann", Role.reviewer)
    assert token not in ended.err
    assert "COLLECTION_SEARCH_SERVER_AUTH" in ended.err  # it is off


def test_the_server_that_asks_is_no_reason_for_a_warning(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default a token is of a viewer of the settings' tenant."""
    monkeypatch.setenv("COLLECTION_SEARCH_SERVER_AUTH", "true")
    monkeypatch.setenv("COLLECTION_SEARCH_TENANT", "mine")
    ended = command("tokens", "add", "ann", "--json")
    assert ended.warnings == []
    assert {**ended.json, "token": ""} == {
        "token": "",
        "tenant": "mine",
        "user": "ann",
        "role": "viewer",
    }
    assert held().find(ended.json["token"]) is not None


def test_the_list_shows_no_token(command: Invoke) -> None:
    """Only ids, by which one is removed."""
    assert "There are no tokens" in command("tokens").out
    tokens = [command("tokens", "add", user).out.strip() for user in ("ann", "bob")]
    listed = command("tokens", "list")
    assert [line.split()[1:4] for line in listed.out.splitlines()] == [
        ["local", "ann", "viewer"],
        ["local", "bob", "viewer"],
    ]
    rows = command("tokens", "list", "--json").json["tokens"]
    assert [row["user"] for row in rows] == ["ann", "bob"]
    assert not any(token[3:] in f"{listed.out}{rows}" for token in tokens)


def test_the_tokens_of_one_tenant_are_listed(command: Invoke) -> None:
    """On request only those."""
    for user, tenant in (("ann", "acme"), ("bob", "beta")):
        command("tokens", "add", user, "--tenant", tenant)
    listed = command("tokens", "list", "--tenant", "acme")
    assert [line.split()[1:3] for line in listed.out.splitlines()] == [["acme", "ann"]]
    assert command("tokens", "list", "--tenant", "none").out.startswith(
        "There are no tokens of none."
    )


def test_removal_is_of_one_user_of_one_tenant(command: Invoke) -> None:
    """One token by its id, or all; a name of another tenant removes nothing."""
    first, second, other = (
        command("tokens", "add", "ann", *tenant).out.strip()
        for tenant in ((), (), ("--tenant", "acme"))
    )
    found = held().find(first)
    assert found is not None
    assert command("tokens", "remove", "ann", "--id", found.token_id).out == (
        "Removed 1 token of ann.\n"
    )
    assert held().find(first) is None
    assert held().find(second) is not None
    assert command("tokens", "remove", "ann").code == 0
    assert held().find(second) is None
    assert held().find(other) is not None
    again = command("tokens", "remove", "ann")
    assert again.code == 2
    assert "no such token in the tenant local" in again.err


@pytest.mark.parametrize(
    "wrong",
    [("ann/bob",), ("ann", "--tenant", ""), ("ann", "--tenant", "a\nb"), ("a", "--role", "x")],
)
def test_a_wrong_name_issues_nothing(command: Invoke, wrong: tuple[str, ...]) -> None:
    """Neither a user, a tenant nor a role that cannot be."""
    assert command("tokens", "add", *wrong).code == 2
    assert held().every() == []

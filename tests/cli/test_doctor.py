"""`collection-search doctor`: its codes, its forms, and no key in any of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Ended, Invoke

WRONG = "a-key-that-nobody-takes-0123456789"


@pytest.fixture
def tavily(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with ProviderServer("tavily") as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", KEY)
        yield server


@pytest.fixture
def doctor(command: Invoke) -> Invoke:
    """Run the doctor; whatever it says, it never says a key."""

    def invoke(*arguments: str) -> Ended:
        ended = command("doctor", *arguments)
        assert KEY not in ended.out + ended.err
        assert WRONG not in ended.out + ended.err
        return ended

    return invoke


@pytest.mark.slow
def test_out_of_the_box(doctor: Invoke) -> None:
    """Nothing is configured but what needs nothing: all is well."""
    ended = doctor()
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith("A run searches with offline (no provider is configured")
    assert "search offline: ok; a run takes it; configured by default; no key needed; free" in (
        ended.out
    )
    assert lines[-1].startswith("Not set up: brave, ")
    assert lines[-1].endswith(", model, tracing; --all shows what each one needs.")
    assert not [line for line in lines if line.startswith(("search brave", "  next:"))]


@pytest.mark.slow
def test_all_parts_on_request(doctor: Invoke) -> None:
    """What is not set up comes last, with its next step."""
    ended = doctor("--all")
    lines = ended.out.splitlines()
    assert "  next: Set BRAVE_API_KEY, or run: collection-search keys set brave" in lines
    assert "ends on 2027-01-01" in ended.out
    assert "storing in some plans only" in ended.out
    assert "Not set up:" not in ended.out
    off = [": not set up" in line for line in lines if not line.startswith("  ")]
    assert off == sorted(off)


def test_a_good_key(doctor: Invoke, tavily: ProviderServer) -> None:
    """What is left of the quota is told, and what a search costs."""
    ended = doctor("--provider", "tavily")
    assert ended.code == 0
    assert ended.out.splitlines()[1] == (
        "search tavily: ok; a run takes it; configured by TAVILY_API_KEY, TAVILY_BASE_URL; "
        "reachable; key valid; 870 credits left; $0.008 a search (2026-11-21); "
        "storage rights unknown"
    )


@pytest.mark.slow
def test_a_wrong_key(
    doctor: Invoke, tavily: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of a failed provider, the part that failed, and what to do; the rest goes on."""
    monkeypatch.setenv("TAVILY_API_KEY", WRONG)
    ended = doctor()
    assert ended.code == 4
    assert ended.complaints == ["collection-search: Does not work: search tavily."]
    assert "  next: Set TAVILY_API_KEY to the right key" in ended.out
    assert "store sqlite: ok" in ended.out


@pytest.mark.slow
def test_json(doctor: Invoke, tavily: ProviderServer) -> None:
    """One object with every part, and nothing else."""
    ended = doctor("--json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    assert found["ok"] is True
    assert found["provider"]["name"] == "tavily"
    parts = {(one["part"], one["name"]): one for one in found["parts"]}
    assert {part for part, _ in parts} == {"search", "model", "embedder", "store", "tracing"}
    assert parts["search", "tavily"] == {
        "part": "search",
        "name": "tavily",
        "state": "ok",
        "configured_by": "TAVILY_API_KEY, TAVILY_BASE_URL",
        "reachable": True,
        "key": "valid",
        "quota_left": 870,
        "quota_unit": "credits",
        "price": {"usd": 0.008, "per": "a search", "seen": "2026-11-21", "output_usd": None},
        "ends_on": None,
        "storage_rights": "unknown",
        "detail": "",
        "next_step": "",
        "chosen": True,
    }


def test_notices_of_the_fallbacks(doctor: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand below the choice, and are a list for programs."""
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", "wikipedia")
    monkeypatch.setenv("WIKIPEDIA_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("COLLECTION_SEARCH_USE_FALLBACK", "true")
    monkeypatch.setenv("COLLECTION_SEARCH_FALLBACK_PROVIDER", "brave serper")
    lines = doctor().out.splitlines()
    assert lines[1].startswith("Note: The fallback provider brave cannot be used.")
    assert lines[2].startswith("Note: The fallback provider serper cannot be used.")
    assert len(doctor("--json").json["notices"]) == 2


def test_json_of_a_failure(
    doctor: Invoke, tavily: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object comes all the same; the code tells."""
    monkeypatch.setenv("TAVILY_API_KEY", WRONG)
    ended = doctor("--json", "--provider", "tavily")
    assert (ended.code, ended.json["ok"]) == (4, False)
    assert ended.json["parts"][0]["key"] == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 140])
def test_on_a_terminal_no_row_is_too_wide(
    doctor: Invoke, tavily: ProviderServer, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Texts break between words, and the remedy is there as a whole."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TAVILY_API_KEY", WRONG)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", doctor().out)
    assert max(map(len, shown.splitlines())) <= columns
    assert "\nsearch tavily: FAILED\n  a run takes it; " in shown
    step = "next: Set TAVILY_API_KEY to the right key, or run: collection-search keys set tavily"
    assert step in " ".join(shown.split())


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_endpoint_without_the_free_call_is_no_broken_key(
    doctor: Invoke, tavily: ProviderServer, status: int
) -> None:
    """A gateway or a compatible server may have the search alone; only a paid call would tell."""
    tavily.reply(Reply.of_json({"detail": "no such page"}, status))
    ended = doctor("--provider", "tavily")
    assert ended.code == 0
    [line] = [one for one in ended.out.splitlines() if one.startswith("search tavily")]
    assert line.startswith("search tavily: not checked; ")
    assert "key not checked" in line
    assert "answers, but has no call that tells the quota" in line
    assert line.endswith("a check of the key costs one search: --spend")


def test_a_provider_that_nobody_knows(doctor: Invoke) -> None:
    """The known ones are listed."""
    ended = doctor("--provider", "nobody")
    assert ended.code == 2
    assert "tavily" in ended.err


def test_an_asked_provider_without_its_key(doctor: Invoke) -> None:
    """Who asks for it wants it to work."""
    ended = doctor("--provider", "brave")
    assert ended.code == 4
    assert "keys set brave" in ended.out


def test_wrong_settings(doctor: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be looked at then."""
    monkeypatch.setenv("COLLECTION_SEARCH_INGEST_WORKERS", "0")
    assert doctor().code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "arguments", "code", "told"),
    [
        ("scripted", (), 0, "search scripted: not checked"),
        ("scripted", ("--spend",), 0, "search scripted: ok; reachable"),
        ("refusing", ("--spend",), 4, "REFUSING_API_KEY"),
        ("keyless", (), 4, "KEYLESS_API_KEY"),
    ],
)
def test_providers_of_third_parties(
    doctor: Invoke, provider: str, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """Nothing is known of a free call: a search tells, if it is asked for."""
    ended = doctor("--provider", provider, *arguments)
    assert ended.code == code
    assert told in ended.out

"""`collection-search review`: runs that wait for a person, and what the answers do."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.decided_reviews import open_gate, shown_page
from support.loopback_site import LoopbackSite, article, essay
from support.scripted_world import QUESTION

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.errors import InputError
from collection_search.nodes import trigger_ingestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.command_line import Ended, Invoke

PAGE = "https://docs.example.com/asyncio/cancel-task-{}"
LATE_H = "0.0000001"
DEEP_JSON = "[" * 100_000
TWICE_JSON = '{"status": "approved", "status": "rejected"}'


@pytest.fixture
def paused(run: Invoke) -> Callable[..., str]:
    """Pause a run at its gate and return the gate's id."""

    def pause(*options: str, provider: str = "scripted") -> str:
        ended = run("--review", "--json", *options, provider=provider)
        assert ended.code == 0, ended.err
        return str(ended.json["request"]["gate_id"])

    return pause


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        yield site


def stored(collection: str = "py", tenant: str = "local") -> dict[str, dict[str, Any]]:
    """Return the provenance of each stored document, by URL."""
    store = SQLiteStore(Path(os.environ["COLLECTION_SEARCH_HOME"]) / "collections.db")
    rows = list(store.collections.export(TenantScope(tenant, collection)))
    store.close()
    return {row["url"]: row["provenance"] for row in rows if "url" in row}


def candidates(command: Invoke, gate: str, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = command("review", gate, "--json", *options).json["candidates"]
    return found


def assert_open(command: Invoke, gate: str) -> None:
    reviews = command("review", "--json").json["reviews"]
    assert gate in [one["gate_id"] for one in reviews]


def test_a_run_pauses_and_says_how_to_go_on(run: Invoke, command: Invoke) -> None:
    """`run --review` ends with 0 at the gate; the command that it prints shows the candidates."""
    ended = run("--review", "--tenant", "acme")
    assert ended.code == 0
    assert "⏸️ Review → waits for a decision" in ended.err
    line = next(line for line in ended.out.splitlines() if "collection-search review" in line)
    shown = command(*shlex.split(line)[1:])
    assert shown.code == 0
    assert QUESTION in shown.out
    assert PAGE.format(1) in shown.out
    assert "wording " in shown.out
    assert "Nothing was decided" in shown.err
    assert stored(tenant="acme") == {}


def test_review_and_auto_ingest_exclude_each_other(run: Invoke) -> None:
    """Who decides must be clear before anything is spent."""
    ended = run("--review", "--auto-ingest")
    assert ended.code == 2
    assert "--review and --auto-ingest exclude each other" in ended.err
    assert run("--max-rounds", "1").code == 2
    ended = run("--no-wait")
    assert ended.code == 2
    assert "--no-wait goes with --auto-ingest" in ended.err


def test_review_and_no_wait_exclude_each_other(run: Invoke) -> None:
    """The run is ingested by the command that decides, so there is no ingestion to leave."""
    ended = run("--review", "--no-wait")
    assert ended.code == 2
    assert "--review and --no-wait exclude each other" in ended.err


def test_the_list_names_every_open_review(paused: Callable[..., str], command: Invoke) -> None:
    """Id, question, collection, count, deadline, policy and host, for people and for programs."""
    gate = paused()
    (row,) = command("review", "--json").json["reviews"]
    assert row["gate_id"] == gate
    assert (row["question"], row["collection"], row["round"]) == (QUESTION, "py", 1)
    assert (row["deadline_policy"], row["host"]) == ("approve", "process")
    assert row["candidate_count"] == len(candidates(command, gate))
    listed = command("review")
    assert gate in listed.out
    assert QUESTION in listed.out
    assert "on this machine" in listed.out
    assert command("review", "--collection", "other").out == ""
    assert command("review", "--tenant", "other").out == ""


@pytest.mark.parametrize("rounds", [0, 1])
def test_only_what_the_run_still_needs_is_prepared(
    paused: Callable[..., str], command: Invoke, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Before the decision: a provider where the run may search again, and none else."""
    gate = paused("--max-rounds", str(rounds))
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", "gone")
    ended = command("review", gate, "--approve", "1")
    if rounds:
        assert ended.code == 2
        assert "gone" in ended.err
        assert_open(command, gate)
    else:
        assert "Decision: partial" in ended.out
        assert len(stored()) == 1


def test_part_and_one_added_page_are_ingested(
    paused: Callable[..., str],
    command: Invoke,
    site: LoopbackSite,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exactly the approved and the added pages are stored, with the approver in provenance."""
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", ",".join(site.allowed))
    added = site.put("/by-hand", article("By hand", essay("cancelling an asyncio task")))
    gate = paused()
    urls = [one["url"] for one in candidates(command, gate)]
    ended = command(
        *("review", gate, "--approve", "1, 3-3", "--add", added),
        *("--comment", "good ones", "--approver", "ann"),
    )
    assert ended.code in {0, 3}, ended.err
    assert "✅ Review" in ended.err
    assert "✅ Ingestion" in ended.err
    assert "Decision: partial by ann: 2 candidates approved, 1 added by hand" in ended.out
    assert "3 of 3 pages stored" in ended.out
    assert "collection-search ask" in ended.out
    known = stored()
    assert known.keys() == {urls[0], urls[2], added}
    assert {one["approved_by"] for one in known.values()} == {"ann"}
    assert {one["review"]["comment"] for one in known.values()} == {"good ones"}
    assert known[added]["added_by_hand"] is True


def test_what_the_collection_has_is_marked(paused: Callable[..., str], command: Invoke) -> None:
    """A page of an earlier run is shown as already in the collection."""
    assert command("review", paused(), "--approve", "1").code in {0, 3}
    again = paused()
    assert [one["in_collection"] for one in candidates(command, again)].count(True) == 1
    assert command("review", again).out.count("[already in collection]") == 1


def test_repeated_approvals_add_up(paused: Callable[..., str], command: Invoke) -> None:
    """The last option does not replace those before it."""
    gate = paused()
    urls = [one["url"] for one in candidates(command, gate)]
    assert command("review", gate, "--approve", "1", "--approve", "3").code in {0, 3}
    assert stored().keys() == {urls[0], urls[2]}


def test_the_pdf_filter(paused: Callable[..., str], command: Invoke) -> None:
    """It restricts what is shown, what a file has, and what `all` approves; PDFs are marked."""
    gate = paused(provider="with_pdf")
    shown = command("review", gate).out
    assert shown.count("[PDF]") == 1
    assert [one["is_pdf"] for one in candidates(command, gate, "--pdf")] == [True]
    assert "cancel.pdf" not in command("review", gate, "--no-pdf").out
    path = Path(os.environ["COLLECTION_SEARCH_HOME"]) / "pdf.json"
    assert command("review", gate, "--pdf", "--write", str(path)).code == 0
    decision = json.loads(path.read_text())["decision"]
    (url,) = decision["approved_urls"]
    assert decision["status"] == "pending"
    unedited = command("review", "--file", str(path))
    assert unedited.code == 0
    assert "stays open" in unedited.err
    assert_open(command, gate)
    assert url.endswith("cancel.pdf")
    ended = command("review", gate, "--no-pdf", "--approve", "all")
    assert "Decision: partial" in ended.out
    assert not [url for url in stored() if url.endswith(".pdf")]


def test_a_rejection_ingests_nothing(paused: Callable[..., str], command: Invoke) -> None:
    """It needs neither provider nor model, and is no failure."""
    ended = command("review", paused(), "--reject", "--json")
    assert ended.code == 0
    assert ended.json["outcome"] == "review_rejected"
    assert ended.json["review"]["status"] == "rejected"
    assert ended.json["review"]["approver"]  # the login name
    assert stored() == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--approve", "99"), "is not possible: the candidates are 1 to"),
        (("--approve", "99-1"), "is not possible: the candidates are 1 to"),
        (("--approve", "x"), "'x' is no number"),
        (("--approve", "1,,2"), "A number is missing"),
        (("--approve", ""), "A number is missing"),
        (("--approve", "1", "--approve", ""), "A number is missing"),
        (("--approve", "all", "--approve", "1"), "'all' stands alone"),
        (("--approve", "--tenant", "acme"), "'--approve': NUMBERS is missing before --tenant."),
        (("--approve", "--tennant=acme"), "NUMBERS is missing before --tennant=acme."),
        (("--approve", "--json"), "'--approve': NUMBERS is missing before --json."),
        (("--approve", "1", "--add", "--no-pdf"), "'--add': URL is missing before --no-pdf."),
        (("--approve", "all", "--pdf"), "No candidate is shown"),
        (("--approve", "1", "--pdf"), "Not shown because of --pdf or --no-pdf: 1"),
        (("--write", "pdf.yaml", "--pdf"), "No candidate is shown"),
        (("--approve", "1", "--add", "ftp://a.example/"), "added_urls.0"),
        (("--approve", "1", "--reject"), "--reject excludes"),
        (("--comment", "hm"), "--comment goes with"),
        (("--sweep",), "--sweep stands alone"),
        (("--header", "a: b"), "--header goes with --server"),
    ],
)
def test_a_wrong_answer_leaves_the_review_open(
    paused: Callable[..., str], command: Invoke, options: tuple[str, ...], says: str
) -> None:
    """One sentence says what is wrong; nothing is ingested, and the review can be answered."""
    gate = paused()
    ended = command("review", gate, *options)
    assert ended.code == 2
    assert says in ended.err
    assert_open(command, gate)
    assert stored() == {}


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_by_file(paused: Callable[..., str], command: Invoke, tmp_path: Path, suffix: str) -> None:
    """A file is written, edited and applied; untouched it decides nothing."""
    gate, path = paused(), tmp_path / f"review{suffix}"
    assert command("review", gate, "--write", str(path)).code == 0
    assert command("review", gate, "--write", str(path)).code == 2  # it is not overwritten
    assert "stays open" in command("review", "--file", str(path)).err
    text = path.read_text()
    assert "\x1b" not in text
    for status in ("approvd", "rejected"):
        path.write_text(text.replace("pending,", "-").replace("pending", status, 1))
        if suffix != ".json":
            path.write_text(text.replace("status: pending", f"status: {status}"))
        ended = command("review", gate, "--file", str(path), "--approver", "ann")
        if status == "approvd":
            assert ended.code == 2
            assert "status: give pending, approved, rejected or partial" in ended.err
            assert_open(command, gate)
    assert ended.code == 0
    assert "Decision: rejected by ann" in ended.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("status: [", "is no valid yaml"),
        ("- 1", "holds no decision"),
        ("decision: {status: rejected}\ngate: other", "is about the review 'other'"),
        ("status: rejected\nwhatever: 1", "whatever: there is no such field"),
        ("status: partial", "status partial needs"),
        ("status: partial\napproved_urls: ['https://a.example/']", "is no candidate"),
        ("!!python/object/apply:os.system ['true']", "is no valid yaml"),
        ("[" * 3000, "nested too deeply"),
        (DEEP_JSON, "nested too deeply"),
        ("status: approved\nstatus: rejected", "stands here for the second time"),
        (TWICE_JSON, "stands there for the second time"),
        ("status: !!bool x", "does not fit its tag"),
    ],
)
def test_a_wrong_file_is_refused(
    paused: Callable[..., str], command: Invoke, tmp_path: Path, content: str, says: str
) -> None:
    """The sentence names what is wrong, and the review stays open."""
    suffix = "json" if content in {DEEP_JSON, TWICE_JSON} else "yaml"
    gate, path = paused(), tmp_path / f"wrong.{suffix}"
    path.write_text(content)
    ended = command("review", gate, "--file", str(path))
    assert ended.code == 2
    assert says in ended.err
    assert_open(command, gate)


def test_the_second_answer_is_told_of_the_first(
    paused: Callable[..., str], command: Invoke
) -> None:
    """A decided review names who decided it and when."""
    gate = paused()
    command("review", gate, "--reject", "--approver", "ann")
    late = command("review", gate, "--approve", "all", "--approver", "bob")
    assert late.code == 2
    assert "decided already: rejected by ann" in late.err
    assert stored() == {}
    assert "has no review 'nope'" in command("review", "nope").err


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("approve", "ingested"), ("reject", "nothing"), ("keep_pending", "open")],
)
def test_the_sweep_applies_each_policy(
    paused: Callable[..., str],
    command: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    expected: str,
) -> None:
    """`review --sweep` says what it decided; a second sweep has nothing to do."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_POLICY", policy)
    gate = paused()
    ended = command("review", "--sweep")
    assert ended.code == 0
    if expected == "open":
        assert "No review is past its deadline" in ended.err
        assert_open(command, gate)
        return
    assert f"{gate}  py  Decision: " in ended.out
    assert "by the deadline" in ended.out
    looks = [line for line in ended.out.splitlines() if "not stored: collection-search" in line]
    assert bool(looks) == (expected == "ingested")
    for line in looks:
        assert command(*shlex.split(line.split(": ", 1)[1])[1:]).code == 0
    assert command("review", "--sweep", "--json").json == {"swept": [], "left": []}
    command("worker", "--once")
    assert bool(stored()) == (expected == "ingested")


def test_a_sweep_names_the_run_that_failed(
    paused: Callable[..., str], command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is decided, so that another sweep resumes it, and that is said."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    gate = paused()

    def broken(*_: Any) -> None:
        raise InputError("the disk is on fire")

    monkeypatch.setattr(trigger_ingestion, "build_ingestion_request", broken)
    ended = command("review", "--sweep")
    assert ended.code == 0
    assert f"{gate} is decided, but its run has not ended" in ended.err
    assert "No review is past" not in ended.err
    assert command("review", "--sweep").code == 0


def test_a_sweep_names_what_another_program_must_decide(command: Invoke) -> None:
    """Its run is in checkpoints of its own, so that nothing here can go on with it."""
    home = Path(os.environ["COLLECTION_SEARCH_HOME"])
    home.mkdir(exist_ok=True)
    store = SQLiteStore(home / "collections.db")
    store.gates.open(replace(open_gate("elsewhere", [shown_page("a", 70)]), deadline=1.0))
    store.close()
    ended = command("review", "--sweep")
    assert ended.code == 0
    assert "elsewhere is past its deadline" in ended.err
    assert "answer it there" in ended.err
    assert "No review is past" not in ended.err


@pytest.mark.parametrize("policy", ["approve", "reject", "keep_pending"])
def test_what_is_overdue_is_told(
    paused: Callable[..., str],
    command: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
) -> None:
    """Past its deadline a review no longer looks open, unless its policy keeps it so."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_POLICY", policy)
    gate, is_overdue = paused(), policy != "keep_pending"
    told = f": the policy {policy} decides at the next sweep"
    listed, shown = command("review"), command("review", gate)
    assert ("overdue since " in listed.out and told in listed.out) == is_overdue
    (following,) = (line for line in listed.out.splitlines() if "  collection-search" in line)
    assert ("--sweep" in following) == is_overdue
    assert ("Overdue since " in shown.out and f" UTC{told}" in shown.out) == is_overdue
    assert ("collection-search review --sweep" in shown.err) == is_overdue
    assert command("review", gate, "--json").json["is_overdue"] is is_overdue


def test_a_decided_review_is_shown(paused: Callable[..., str], command: Invoke) -> None:
    """With its candidates and the decision in force; only another answer is refused."""
    gate = paused()
    asked = command("review", gate, "--json").json
    assert (asked["state"], asked["review"]) == ("open", None)
    command("review", gate, "--reject", "--approver", "ann")
    shown = command("review", gate)
    assert shown.code == 0
    assert "Decision: rejected by ann" in shown.out
    assert PAGE.format(1) in shown.out
    assert "Open until" not in shown.out
    told = command("review", gate, "--json").json
    assert (told["state"], told["review"]["status"]) == ("closed", "rejected")
    assert told["candidates"] == asked["candidates"]
    assert command("review", gate, "--write", "late.yaml").code == 2


def test_an_answer_after_the_deadline_is_not_used(
    paused: Callable[..., str], command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changes nothing; the sweep carries the policy out."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_POLICY", "reject")
    ended = command("review", paused(), "--approve", "all")
    assert ended.code == 2
    assert "its policy 'reject' decides now, and your answer changes nothing" in ended.err
    assert "Decision: rejected by the deadline" in command("review", "--sweep").out
    assert stored() == {}


def test_a_worker_sweeps(
    paused: Callable[..., str], command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`worker --once` decides what is overdue, and ingests what that approves."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    gate = paused()
    ended = command("worker", "--once")
    assert f"py: {gate}: Decision: " in ended.err
    assert stored()
    assert command("review", "--json").json == {"reviews": []}


def test_hostile_titles_cannot_steer_the_terminal(
    paused: Callable[..., str], command: Invoke
) -> None:
    """Titles of the scripted pages hold an escape sequence, which is not printed."""
    gate = paused()
    shown = command("review", gate)
    assert "[31m" in shown.out
    assert "\x1b" not in shown.out + shown.err


def test_a_killed_run_is_decided_in_another_process(
    started: Callable[..., subprocess.Popen[str]], command: Invoke
) -> None:
    """The process that asked is gone; another one decides, and the pages are ingested."""
    options = ("run", QUESTION, "-c", "py", "--provider", "scripted", "--review")
    with started(*options) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "waits for a decision" in line:
                break
        process.send_signal(signal.SIGKILL)
    (row,) = command("review", "--json").json["reviews"]
    ended: Ended = command("review", row["gate_id"], "--approve", "2")
    assert "1 of 1 pages stored" in ended.out, ended.err
    assert len(stored()) == 1


@pytest.mark.slow
def test_a_person_at_a_terminal(plugin_path: list[str]) -> None:
    """`run --review` asks whether to decide now, and each question takes another try."""
    said = at_terminal(
        ["run", QUESTION, "-c", "py", "--provider", "scripted", "--review"],
        [
            ("Decide now?", "y"),
            ("Approve", "7-99"),
            ("Approve", "1,,2"),
            ("Approve", "1-2"),
            ("Add a URL", "no url"),
            ("Add a URL", ""),
            ("Comment", "both"),
            ("Ingest 2 pages", "y"),
        ],
        plugin_path,
    )
    assert "is not possible: the candidates are 1 to" in said
    assert "A number is missing" in said
    assert "not an absolute http(s) URL" in said
    assert "2 candidates approved (both)" in said
    assert len(stored()) == 2


@pytest.mark.slow
def test_an_empty_answer_leaves_the_review_open(
    paused: Callable[..., str], command: Invoke, plugin_path: list[str]
) -> None:
    """Whoever wants to decide later presses Enter."""
    gate = paused()
    assert "stays open" in at_terminal(["review", gate], [("Approve", "")], plugin_path)
    assert_open(command, gate)


def at_terminal(
    arguments: list[str], answers: list[tuple[str, str]], plugin_path: list[str]
) -> str:
    """Run the command at a pseudo-terminal, answer its questions, and return what it wrote."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "collection_search", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(plugin_path), "TERM": "dumb"},
    )
    os.close(theirs)
    said, seen, left = "", 0, list(answers)
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the process has closed its side
            break
        if not part:
            break
        said += part.decode(errors="replace")
        while left and (place := said.find(left[0][0], seen)) >= 0:
            seen = place + len(left[0][0])
            os.write(ours, f"{left.pop(0)[1]}\n".encode())
    os.close(ours)
    process.wait(90)
    assert not left, said
    return said

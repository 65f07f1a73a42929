"""`collection-search eval`: tables over a data set of the user's."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from support.labelled_data import JUDGEMENTS, PAGES, write_dataset

from collection_search.cli.shared.preparation import confirm_cost
from collection_search.cli.shared.terminal import Screen
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.ranking.anchors import anchor_texts
from collection_search.testing import OpenAIServer
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import Ended, Invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set with English and German pages."""
    return write_dataset(tmp_path / "small")


def one_sentence(ended: Ended, *, says: str, code: int = 2) -> None:
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.complaints) == 1, ended.err
    assert says in ended.complaints[0]


@pytest.mark.slow
def test_the_tables_are_printed(command: Invoke, folder: Path) -> None:
    """Without a key, a model or a network; what is going on stands beside the result."""
    ended = command("eval", "--dataset", str(folder))
    assert ended.code == 0
    assert ended.err == "Indexing the data set ...\nRanking ...\n"
    assert ended.out.startswith("Ranking of small\n")
    for title in ("Order", "Paired differences in nDCG@10", "What is ingested"):
        assert f"\n\n{title}\n\n" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.slow
def test_json_is_one_object(command: Invoke, folder: Path) -> None:
    """With every figure as a number, and nothing beside it."""
    ended = command("eval", "--dataset", str(folder), "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["answerable"] == 3
    assert ended.json["environment"]["packages"].keys() >= {"numpy", "collection-search"}
    default = ended.json["methods"][0]
    assert default["method"] == "lexical, default"
    assert default["precision_at_1"]["mean"] == 0.75


@pytest.mark.slow
def test_the_report_is_markdown_with_a_picture(
    command: Invoke, folder: Path, tmp_path: Path
) -> None:
    """The picture is an SVG beside it, and the command says where both are."""
    report, picture = tmp_path / "my report.md", tmp_path / "my report.svg"
    ended = command("eval", "--dataset", str(folder), "--report", str(report))
    text = report.read_text(encoding="utf-8")
    assert text.startswith("# Ranking of small\n")
    assert "\n## What is ingested\n\n| method " in text
    assert "(<my%20report.svg>)" in text
    assert ET.fromstring(picture.read_bytes()).tag.endswith("svg")
    assert ended.err.endswith(f"The report is in {report}, its picture in {picture}.\n")


@pytest.mark.slow
def test_a_part_of_the_questions(command: Invoke, folder: Path) -> None:
    """As many as asked for, of one split."""
    write_dataset(folder, judgements=JUDGEMENTS[:4], split="dev")
    ended = command("eval", "--dataset", str(folder), "--queries", "1", "--split", "dev", "--json")
    facts = ended.json
    assert (facts["questions"], facts["questions_in_split"], facts["split"]) == (1, 2, "dev")


@pytest.mark.slow
def test_no_index_is_left(
    command: Invoke, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the temporary folder nor among the collections."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert command("eval", "--dataset", str(folder)).code == 0
    assert list(scratch.iterdir()) == []
    assert command("collections").out.startswith("There are no collections.")


def test_an_embedder_is_not_paid_unasked(command: Invoke, folder: Path) -> None:
    """How much it has to embed is told first, and how to agree or to go without."""
    ended = command("eval", "--dataset", str(folder), "--embeddings", "words")
    anchors = len(anchor_texts())
    asked = f"9 texts and {anchors} anchors, since it is new here, at a price that is not known"
    one_sentence(ended, says=f"scripted:64 has to embed {asked}")
    assert "--yes" in ended.complaints[0]
    assert "--embeddings lexical" in ended.complaints[0]


@pytest.mark.slow
def test_an_embedder_that_was_agreed_to(command: Invoke, folder: Path) -> None:
    """Its rankings come first, beside those by words."""
    ended = command("eval", "--dataset", str(folder), "--embeddings", "words", "--yes")
    assert ended.code == 0
    assert "scripted:64 has to embed 9 texts and " in " ".join(ended.err.split())
    assert "Embedding ..." in ended.err
    assert "\ndense, default    " in ended.out
    assert "\ndense, default - lexical, default " in ended.out


@pytest.mark.slow
def test_a_price_that_is_known_is_told(
    command: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the work as an estimate, in the report as what it was, with the anchors."""
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        asked = ("eval", "--dataset", str(folder), "--embeddings", "openai:text-embedding-3-small")
        one_sentence(command(*asked), says="since it is new here, for about $0.0001")
        assert server.requests == []
        ended = command(*asked, "--yes", "--json")
        texts = [request.body["input"] for request in server.requests]
        one_sentence(command(*asked), says="has to embed 9 texts for about $0.00000")
    assert ended.code == 0
    assert len(texts[0]) == 9
    tokens = ended.json["input_tokens"]
    assert tokens
    assert ended.json["cost_usd"] == pytest.approx(tokens * 0.02 / 1e6)
    assert ended.json["calibration"]["scale"] == "dense"


@pytest.mark.parametrize("yes", [True, False])
def test_what_is_free_is_not_asked_for(capsys: pytest.CaptureFixture[str], *, yes: bool) -> None:
    """An embedder on this machine costs nothing, and nothing is said."""
    confirm_cost("local:a-model", LIST_PRICES, texts="9 texts", chars=900, yes=yes, screen=Screen())
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_what_it_costs_is_in_the_books(
    command: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Corpus and anchors, to the last token, in a run of their own."""
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        asked = ("eval", "--dataset", str(folder), "--embeddings", "openai:text-embedding-3-small")
        ended = command(*asked, "--yes", "--json")
        texts = [request.body["input"] for request in server.requests]
    spend_writer().flush()
    counted = sum(len(text.split()) for part in texts for text in part)
    [run] = command("costs", "--by", "run", "--json").json["totals"]
    assert (run["requests"], run["input_tokens"]) == (len(texts), counted)
    assert ended.json["input_tokens"] == counted
    assert ended.json["cost_usd"] == run["cost_usd"]


@pytest.mark.slow
def test_a_ceiling_ends_it(command: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the code of other ceilings; what was paid until then stays in the books."""
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        asked = ("eval", "--dataset", str(folder), "--embeddings", "openai:text-embedding-3-small")
        ended = command(*asked, "--yes", "--max-cost", "0.00002")
        texts = [request.body["input"] for request in server.requests]
    assert (ended.code, ended.out) == (4, "")
    assert "The ceiling of $0.00002 does not allow" in ended.err
    assert "collection-search costs" in ended.err
    assert [len(part) for part in texts] == [9]  # the corpus, and no anchors
    spend_writer().flush()
    [run] = command("costs", "--by", "run", "--json").json["totals"]
    assert run["input_tokens"] == sum(len(text.split()) for text in texts[0])


def test_an_embedder_that_fails(command: Invoke, folder: Path) -> None:
    """A failed model is 4, as everywhere."""
    ended = command("eval", "--dataset", str(folder), "--embeddings", "broken_embedder", "--yes")
    one_sentence(ended, says="no answer", code=4)


@pytest.mark.slow
def test_relevant_pages_that_are_not_there(command: Invoke, tmp_path: Path) -> None:
    """A warning: every figure is lower for it."""
    write_dataset(tmp_path, judgements=[*JUDGEMENTS, ("q1", "elsewhere", "1")])
    ended = command("eval", "--dataset", str(tmp_path), "--json")
    assert ended.code == 0
    assert ended.warnings == ["warning: 1 relevant pages are not in corpus.jsonl."]


def test_a_data_set_that_cannot_be_used(command: Invoke, tmp_path: Path) -> None:
    """File and line are named, before or while the corpus is read."""
    one_sentence(command("eval", "--dataset", str(tmp_path / "x")), says="There is no folder")
    write_dataset(tmp_path, pages=[PAGES[0], PAGES[0]])
    one_sentence(command("eval", "--dataset", str(tmp_path)), says="corpus.jsonl:2: the _id")
    ended = command("eval", "--dataset", str(tmp_path), "--split", "nix")
    one_sentence(ended, says="no qrels/nix.tsv. There: test.")


@pytest.mark.parametrize("name", ["nowhere/report.md", "."])
def test_a_report_that_cannot_be_written(
    command: Invoke, folder: Path, tmp_path: Path, name: str
) -> None:
    """Told before the work, not after it."""
    ended = command("eval", "--dataset", str(folder), "--report", str(tmp_path / name))
    one_sentence(ended, says="--report")
    assert "Indexing" not in ended.err


def test_an_unknown_embedder(command: Invoke, folder: Path) -> None:
    """Told before the work as well."""
    ended = command("eval", "--dataset", str(folder), "--embeddings", "nix:ada")
    one_sentence(ended, says="'nix'")
    assert "Indexing" not in ended.err


@pytest.mark.slow
def test_a_recorded_run_is_judged(command: Invoke, run: Invoke, tmp_path: Path) -> None:
    """A template is written and filled in; the recorded vectors need no embedder."""
    tape, grades = tmp_path / "run.jsonl", tmp_path / "grades.tsv"
    assert run("--record", str(tape), "--embeddings", "words").code == 0
    told = command("eval", "--run", str(tape), "--template", str(grades))
    assert (told.code, told.err) == (0, "")
    assert f"--judgements {grades}" in told.out
    head, first, *rest = grades.read_text("utf-8").splitlines()
    question, url, _, *more = first.split("\t")
    grades.write_text("\n".join([head, "\t".join([question, url, "1", *more]), *rest]), "utf-8")
    ended = command("eval", "--run", str(tape), "--judgements", str(grades), "--json")
    assert ended.code == 0
    assert (ended.json["model"], ended.json["questions"]) == ("scripted:64", 1)
    assert ended.json["has_given_pools"]
    assert ended.json["unjudged_pages"] == len(rest)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "Give one of --dataset FOLDER, --run CASSETTE and --compare"),
        (("--compare", "--run", "x"), "Give one of --dataset"),
        (("--dataset", "x", "--template", "y"), "go with --run CASSETTE"),
        (("--run", "x"), "needs --judgements FILE, or --template FILE"),
        (("--run", "nowhere", "--template", "y"), "The cassette nowhere cannot be read"),
    ],
)
def test_what_is_judged_has_to_be_clear(
    command: Invoke, options: tuple[str, ...], says: str
) -> None:
    """One sentence says what is missing."""
    one_sentence(command("eval", *options), says=says)


def test_nothing_was_compared(command: Invoke) -> None:
    """The command says which setting records comparisons."""
    ended = command("eval", "--compare")
    assert ended.code == 0
    assert "COLLECTION_SEARCH_COMPARE_PROFILE" in ended.out
    assert command("eval", "--compare", "--json").json["compared"] == []


@pytest.mark.slow
def test_compared_profiles_are_reported(
    command: Invoke, run: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all collections or of one."""
    monkeypatch.setenv("COLLECTION_SEARCH_COMPARE_PROFILE", "literal")
    assert run().code == 0
    ended = command("eval", "--compare")
    assert "default decided, literal was compared, words alone" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80
    assert command("eval", "--compare", "-c", "other", "--json").json["compared"] == []

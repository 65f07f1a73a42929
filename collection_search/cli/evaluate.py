"""`collection-search eval`: the quality of the ranking on a labelled data set."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .shared.context_options import AsJson, Embeddings, UnaskedPaid, search_context
from .shared.preparation import confirm_cost
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..ports import Embedder
    from ..tools.evaluation.beir import Dataset
    from ..tools.evaluation.evaluation import Model
    from ..tools.evaluation.pools import EvalCorpus


def evaluate(
    *,
    dataset: Annotated[
        Path,
        typer.Option(help="Folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR)."),
    ],
    queries: Annotated[
        int, typer.Option(min=1, help="How many questions at most, drawn by chance.")
    ] = 300,
    split: Annotated[
        str | None, typer.Option(help="Judgements to use; by default test, else dev, else train.")
    ] = None,
    embeddings: Embeddings = None,
    yes: UnaskedPaid = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that takes the tables as Markdown.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge the ranking on labelled data.

    Prints tables with intervals, against the ranking's rivals.
    """
    from ..tools.evaluation.beir import load_dataset

    screen, context = Screen(as_json=as_json), search_context(embeddings=embeddings)
    if report is not None and (report.is_dir() or not report.absolute().parent.is_dir()):
        raise InputError(f"--report {report} cannot be written: name a file in a folder that is.")
    embedder = asyncio.run(context.embedder())
    corpus = _indexed(load_dataset(dataset, split=split, limit=queries), screen)
    if corpus.unknown:
        screen.warn(f"{corpus.unknown} relevant pages are not in corpus.jsonl.")
    model = None
    if embedder is not None:
        confirm_cost(
            embedder.fingerprint,
            texts=f"{len(corpus.texts)} texts",
            chars=sum(map(len, corpus.texts)),
            yes=yes,
            instead=", or --embeddings lexical",
            screen=screen,
        )
        model = _measured(corpus, embedder, context.using().home, screen)
    _judge(corpus, model, screen, report)


def _indexed(dataset: Dataset, screen: Screen) -> EvalCorpus:
    """Return the corpus, searched with a temporary index."""
    from ..adapters.stores.sqlite import SQLiteStore
    from ..tools.evaluation.pools import index_corpus

    with (
        TemporaryDirectory(prefix="collection-search-") as folder,
        screen.bar("Indexing the data set") as advance,
    ):
        store = SQLiteStore(Path(folder) / "pages.db")
        try:
            return index_corpus(dataset, store.collections, advance)
        finally:
            store.close()


def _measured(corpus: EvalCorpus, embedder: Embedder, home: Path, screen: Screen) -> Model:
    from ..tools.evaluation.evaluation import measure_embedder

    with screen.bar("Embedding") as advance:
        model = asyncio.run(measure_embedder(corpus, embedder, folder=home, progress=advance))
    if model.problem:
        screen.warn(f"{model.problem} Its default ranking compares words alone.")
    return model


def _judge(corpus: EvalCorpus, model: Model | None, screen: Screen, report: Path | None) -> None:
    from dataclasses import asdict

    from ..runtime.whole_file import write_whole
    from ..tools.evaluation.evaluation import evaluate_ranking
    from ..tools.evaluation.report import Environment, format_findings

    with screen.bar("Ranking") as advance:
        found = evaluate_ranking(corpus, model, advance)
    environment = Environment()
    text = format_findings(found, environment)
    if report is not None:
        try:
            with write_whole(report) as draft:
                draft.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"--report {report} cannot be written ({error.strerror}).") from error
        screen.note(f"The report is in {report}.")
    if screen.as_json:
        screen.json({**asdict(found), "environment": asdict(environment)})
    else:
        for line in text.splitlines():
            screen.line(line)

"""`collection-search eval`: the quality of the ranking on judged pages, and compared profiles."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .shared.context_options import AsJson, Embeddings, MaxCost, Tenant, UnaskedPaid, search_context
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import Embedder
    from ..tools.evaluation.evaluation import Model
    from ..tools.evaluation.pools import EvalCorpus


def evaluate(
    *,
    dataset: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="corpus.jsonl, queries.jsonl, qrels/test.tsv (BEIR); pools.jsonl, if any, is"
            " ranked as it is.",
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="CASSETTE", help="A file of 'run --record' instead.")
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --run: question, url, grade (TSV or CSV)."),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --run: write such a file to fill in, and end."),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Report what the setting compare_profile recorded.")
    ] = False,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="With --compare: one collection.")
    ] = None,
    tenant: Tenant = None,
    queries: Annotated[
        int, typer.Option(min=1, help="How many questions at most, drawn by chance.")
    ] = 300,
    split: Annotated[
        str | None, typer.Option(help="Judgements to use; by default test, else dev, else train.")
    ] = None,
    embeddings: Embeddings = None,
    max_cost: MaxCost = None,
    yes: UnaskedPaid = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File that takes the tables as Markdown, a picture beside it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge the ranking on labelled data.

    Prints tables with intervals: the order against its rivals, and what would be ingested.
    """
    from .shared.evaluation_output import check_report

    _refuse_combinations(dataset, run, compare=compare, with_run=(judgements, template))
    screen = Screen(as_json=as_json)
    context = search_context(embeddings=embeddings, tenant_id=tenant, max_cost_usd=max_cost)
    check_report(report)
    if compare:
        _compare(context, collection, screen, report)
    elif run is not None and template is not None:
        _write_template(run, template, screen)
    else:
        is_chosen = run is None or context.embeddings is not None
        embedder = asyncio.run(context.embedder()) if is_chosen else None
        corpus = _corpus(dataset, run, judgements, split=split, queries=queries, screen=screen)
        if not is_chosen:
            embedder = _recorded_embedder(corpus, run, screen)
        model = None if embedder is None else _paid(corpus, embedder, context, screen, yes=yes)
        _judge(corpus, model, screen, report)


def _refuse_combinations(
    dataset: Path | None, run: Path | None, *, compare: bool, with_run: tuple[Path | None, ...]
) -> None:
    if sum((dataset is not None, run is not None, compare)) != 1:
        raise InputError(
            "Give one of --dataset FOLDER, --run CASSETTE and --compare: what is to be judged?"
        )
    given = sum(each is not None for each in with_run)
    if given and run is None:
        raise InputError("--judgements and --template go with --run CASSETTE.")
    if run is not None and given != 1:
        raise InputError(
            f"--run {run} needs --judgements FILE, or --template FILE, which writes the pages of"
            " the run to judge."
        )


def _corpus(
    dataset: Path | None,
    run: Path | None,
    judgements: Path | None,
    *,
    split: str | None,
    queries: int,
    screen: Screen,
) -> EvalCorpus:
    """Return the judged pages of the data set or of the recorded run."""
    from ..tools.evaluation.beir import load_dataset
    from ..tools.evaluation.pools import take_pools

    if run is not None and judgements is not None:
        from ..cassette.recorded_pools import read_pools
        from ..tools.evaluation.recorded import judged_corpus

        return judged_corpus(run, read_pools(run), judgements)
    labelled = load_dataset(dataset or Path(), split=split, limit=queries)
    if labelled.has_pools:
        with screen.bar("Reading the pools") as advance:
            corpus = take_pools(labelled, advance)
    else:
        from .shared.evaluation_index import index_dataset

        corpus = index_dataset(labelled, screen)
    if corpus.unknown:
        screen.warn(f"{corpus.unknown} relevant pages are not in corpus.jsonl.")
    return corpus


def _recorded_embedder(corpus: EvalCorpus, run: Path | None, screen: Screen) -> Embedder | None:
    """Return the vectors of the recording, None where it lacks some."""
    from ..cassette.recorded_pools import read_vectors

    recorded = read_vectors(run) if run is not None else None
    if recorded is None or recorded.has_all(corpus.texts):
        return recorded
    screen.warn(
        f"{run} lacks vectors of some texts: words alone are compared. --embeddings"
        f" {recorded.fingerprint.rpartition('@')[0] or recorded.fingerprint} makes them anew."
    )
    return None


def _paid(
    corpus: EvalCorpus, embedder: Embedder, context: SearchContext, screen: Screen, *, yes: bool
) -> Model:
    """Return the corpus as the embedder represents it; a paid one is asked about."""
    from ..cassette.recorded_pools import RecordedVectors
    from ..tools.evaluation.evaluation import measure_embedder
    from ..tools.evaluation.paid_model import pay_for_model
    from ..tools.spending.paid_scale import unmeasured_anchors
    from .shared.preparation import confirm_cost

    if not isinstance(embedder, RecordedVectors):
        anchors = asyncio.run(unmeasured_anchors(embedder.fingerprint, context))
        first = f" and {len(anchors)} anchors, since it is new here," if anchors else ""
        confirm_cost(
            embedder.fingerprint,
            context.prices(),
            texts=f"{len(corpus.texts)} texts{first}",
            chars=sum(map(len, [*corpus.texts, *anchors])),
            yes=yes,
            instead=", or --embeddings lexical",
            screen=screen,
        )
    with screen.bar("Embedding") as advance:
        if isinstance(embedder, RecordedVectors):
            home = context.using().home
            measured = measure_embedder(corpus, embedder, folder=home, progress=advance)
        else:
            measured = pay_for_model(corpus, embedder, context, progress=advance)
        model = asyncio.run(measured)
    if model.problem:
        screen.warn(f"{model.problem} Its default ranking compares words alone.")
    return model


def _judge(corpus: EvalCorpus, model: Model | None, screen: Screen, report: Path | None) -> None:
    from dataclasses import asdict

    from ..tools.evaluation.evaluation import evaluate_ranking
    from ..tools.evaluation.report import Environment, build_report, draw_curves
    from .shared.evaluation_output import put_out

    with screen.bar("Ranking") as advance:
        found = evaluate_ranking(corpus, model, advance)
    environment = Environment()
    put_out(
        build_report(found, environment),
        {**asdict(found), "environment": asdict(environment)},
        screen,
        report,
        picture=draw_curves(found),
    )


def _write_template(run: Path, template: Path, screen: Screen) -> None:
    from ..cassette.recorded_pools import read_pools
    from ..tools.evaluation.recorded import write_template

    count = write_template(template, read_pools(run))
    if screen.as_json:
        screen.json({"template": str(template), "pages": count})
        return
    told = (
        f"{template} holds {count} pages. Fill in the grades: 0 not relevant, 1 relevant, more for"
        " better ones; leave the rest empty."
    )
    screen.rows(screen.wrap(told))
    screen.line(f"Then: collection-search eval --run {run} --judgements {template}")


def _compare(
    context: SearchContext, collection: str | None, screen: Screen, report: Path | None
) -> None:
    from dataclasses import asdict

    from ..tools.evaluation.compared_runs import report_comparisons, summarize_comparisons
    from .shared.evaluation_output import put_out

    store, owner = asyncio.run(context.storage()), context.tenant()
    gates = store.gates.gates(owner, collection=collection)
    comparisons = store.comparisons.comparisons(owner, collection=collection)
    found = summarize_comparisons(comparisons, gates)
    place = f"the collection {collection}" if collection else f"the tenant {owner}"
    if not found and not screen.as_json:
        screen.line(f"No run of {place} was ranked by two profiles.")
        screen.line("Set COLLECTION_SEARCH_COMPARE_PROFILE to default, literal or words.")
        return
    tables = report_comparisons(found, of=place)
    put_out(tables, {"of": place, "compared": [asdict(each) for each in found]}, screen, report)

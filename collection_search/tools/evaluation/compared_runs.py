"""The report of stored comparisons: what another profile would have changed, and who was right."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...text.timestamps import iso_time
from ..criteria.refused_pages import reason_against
from .report_tables import Report, Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...contracts.comparison import ComparedPage, ProfileComparison
    from ...contracts.review import Gate

MAX_SHOWN: Final = 10
"""Pages that only one profile would ingest, of each profile."""


@dataclass(frozen=True)
class ComparedRuns:
    """The runs in which the same two profiles ranked, in figures."""

    decided_by: str
    compared: str
    model: str | None
    """Fingerprint of the embedder; None where words alone were compared."""
    runs: int
    first_at: str
    last_at: str
    """ISO 8601, UTC."""
    top10_overlap: float
    """Mean share of the first ten that both profiles have."""
    rank_correlation: float | None
    """Mean of Spearman's."""
    both: int
    """Pages that both profiles would ingest."""
    only_decided: int
    only_compared: int
    same_selection: int
    """Runs in which both would ingest the same pages."""
    judged: int
    """Pages on which a person decided in the gate."""
    agreed_decided: int
    """Judged pages that the profile would ingest and the person approved, or neither."""
    agreed_compared: int
    differing: int
    """Judged pages that one profile alone would ingest."""
    differing_approved_decided: int
    """Judged pages that only the deciding profile would ingest, and the person approved."""
    differing_approved_compared: int
    differing_right_decided: int
    """Differing pages on which the person decided as the deciding profile would."""
    differing_right_compared: int
    examples: list[tuple[str, ComparedPage]]
    """Newest pages that only one profile would ingest, with that profile's name."""

    @property
    def selection_overlap(self) -> float | None:
        """Return the share of all pages of either selection that both have, 0 to 1."""
        either = self.both + self.only_decided + self.only_compared
        return self.both / either if either else None


def summarize_comparisons(
    comparisons: Sequence[ProfileComparison], gates: Iterable[Gate] = ()
) -> list[ComparedRuns]:
    """Return the figures per pair of profiles and model, the pair with most runs first.

    `gates` are the tenant's: decisions of persons in the same runs are counted.
    """
    decisions = _decisions(gates)
    groups: dict[tuple[str, str, str | None], list[ProfileComparison]] = defaultdict(list)
    for each in comparisons:
        groups[each.decided_by, each.compared, each.model].append(each)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return [_summary(group, decisions) for group in ordered]


def report_comparisons(found: Sequence[ComparedRuns], *, of: str) -> Report:
    """Return the report; `of` names the tenant and the collection."""
    sections = [section for each in found for section in _sections(each)]
    runs = sum(each.runs for each in found)
    told = "1 run was" if runs == 1 else f"{runs} runs were"
    return Report(f"Compared profiles of {of}", [f"{told} ranked by two profiles."], sections)


def _decisions(gates: Iterable[Gate]) -> dict[tuple[str, str], dict[str, bool]]:
    """Return per collection and run what persons decided on each page.

    A page that criteria or rules refused and nobody approved was not decided on.
    """
    decisions: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for gate in gates:
        if gate.decision.get("decided_by") != "person":
            continue
        approved = set(gate.decision["approved_urls"])
        decisions[gate.collection, gate.run_id] |= {
            page["url"]: page["url"] in approved
            for page in gate.candidates
            if page["url"] in approved or not reason_against(page)
        }
    return decisions


def _summary(
    group: Sequence[ProfileComparison],
    decisions: Mapping[tuple[str, str], Mapping[str, bool]],
) -> ComparedRuns:
    first, last = group[0], group[-1]
    pages = [page for each in group for page in each.pages]
    judged = [
        (page, approved[page["url"]])
        for each in group
        if (approved := decisions.get((each.collection, each.run_id)))
        for page in each.pages
        if page["url"] in approved
    ]
    only = [page for page in pages if page["decided_ingests"] != page["compared_ingests"]]
    differing = [
        (page, approved)
        for page, approved in judged
        if page["decided_ingests"] != page["compared_ingests"]
    ]
    correlations = [each.rank_correlation for each in group if each.rank_correlation is not None]
    return ComparedRuns(
        decided_by=first.decided_by,
        compared=first.compared,
        model=first.model,
        runs=len(group),
        first_at=iso_time(first.compared_at),
        last_at=iso_time(last.compared_at),
        top10_overlap=sum(each.top10_overlap for each in group) / len(group),
        rank_correlation=sum(correlations) / len(correlations) if correlations else None,
        both=sum(page["decided_ingests"] and page["compared_ingests"] for page in pages),
        only_decided=sum(page["decided_ingests"] for page in only),
        only_compared=sum(page["compared_ingests"] for page in only),
        same_selection=sum(
            all(page["decided_ingests"] == page["compared_ingests"] for page in each.pages)
            for each in group
        ),
        judged=len(judged),
        agreed_decided=sum(page["decided_ingests"] == ok for page, ok in judged),
        agreed_compared=sum(page["compared_ingests"] == ok for page, ok in judged),
        differing=len(differing),
        differing_approved_decided=sum(ok and page["decided_ingests"] for page, ok in differing),
        differing_approved_compared=sum(ok and page["compared_ingests"] for page, ok in differing),
        differing_right_decided=sum(page["decided_ingests"] == ok for page, ok in differing),
        differing_right_compared=sum(page["compared_ingests"] == ok for page, ok in differing),
        examples=_examples(first.decided_by, first.compared, only),
    )


def _examples(
    decided_by: str, compared: str, only: Sequence[ComparedPage]
) -> list[tuple[str, ComparedPage]]:
    by_decided = [(decided_by, page) for page in only if page["decided_ingests"]]
    by_compared = [(compared, page) for page in only if page["compared_ingests"]]
    return [*by_decided[: -MAX_SHOWN - 1 : -1], *by_compared[: -MAX_SHOWN - 1 : -1]]


def _sections(found: ComparedRuns) -> list[Section]:
    a, b = found.decided_by, found.compared
    by = f", similarities by {found.model}" if found.model else ", words alone"
    sections = [
        Section(
            f"{a} decided, {b} was compared{by}",
            ("figure", "value"),
            [
                ("runs", str(found.runs)),
                ("from", found.first_at),
                ("to", found.last_at),
                ("first ten in common", f"{found.top10_overlap:.0%}"),
                ("rank correlation", _figure(found.rank_correlation)),
                ("ingested by both", f"{found.both} pages"),
                (f"ingested by {a} alone", f"{found.only_decided} pages"),
                (f"ingested by {b} alone", f"{found.only_compared} pages"),
                ("overlap of selections", _share(found.selection_overlap)),
                ("runs with equal selections", f"{found.same_selection} of {found.runs}"),
            ],
            note="Ingested: what the product's rule selects by score alone, before premium and"
            " criteria, at the minimum score that was asked for. Criteria, a learnt minimum score,"
            " a gate or a ceiling may have changed what was ingested. Blocked hosts are left out.",
        ),
        _people(found),
    ]
    if found.examples:
        sections.append(_pages(found))
    return sections


def _people(found: ComparedRuns) -> Section:
    a, b = found.decided_by, found.compared
    if not found.judged:
        note = "No person has decided on pages of these runs yet: 'run --review' asks one."
        return Section("People's decisions", (), (), note)
    rows = [
        ("pages judged in the gate", str(found.judged)),
        (f"people agreed with {a}", f"{found.agreed_decided} of {found.judged}"),
        (f"people agreed with {b}", f"{found.agreed_compared} of {found.judged}"),
        ("judged pages on which they differ", str(found.differing)),
        (f"there people agreed with {a}", str(found.differing_right_decided)),
        (f"there people agreed with {b}", str(found.differing_right_compared)),
    ]
    return Section("People's decisions", ("figure", "value"), rows, note=_verdict(found))


def _verdict(found: ComparedRuns) -> str:
    apart = found.differing_right_decided - found.differing_right_compared
    if not apart:
        return "Neither profile agreed with people more often."
    better = found.decided_by if apart > 0 else found.compared
    return f"The profile {better} agreed with people more often, by {abs(apart)} pages."


def _pages(found: ComparedRuns) -> Section:
    a, b = found.decided_by, found.compared
    rows = [
        (
            page["url"],
            profile,
            _place(page["decided_rank"], page["decided_score"]),
            _place(page["compared_rank"], page["compared_score"]),
        )
        for profile, page in found.examples
    ]
    head = ("page", "only", a, b)
    note = "Each with rank and score under both profiles; 'only' says whose selection has it."
    return Section("Newest pages of one selection alone", head, rows, note)


def _place(rank: int | None, score: float | None) -> str:
    return "-" if rank is None or score is None else f"{rank}, {score:.1f}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"

"""The findings about the product's overhead as Markdown, each figure beside its goal."""

from __future__ import annotations

import operator
import statistics
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import world
from environment import environment
from measure import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from measure import Round

    Figure: TypeAlias = Callable[[Round], float]

FLOOR: Final = "floor"
HTTPX: Final = "floor, httpx API"
PRODUCT: Final = "product"
TRACED: Final = "product, Langfuse on"
TUNED: Final = "product tuned, no answer kept"

RANK: Final = "k_embedding_rank"
overhead, wall, cpu = (operator.attrgetter(name) for name in ("overhead_ms", "wall_ms", "cpu_ms"))
INTRODUCTION: Final = """\
Each answer takes a fixed time: chat 400 ms, search 200 ms, embeddings 100 ms. Every question has
4 queries of 10 hits: 37 addresses of 30 pages.

*Busy* is the length of the union of the calls as the servers saw them, *overhead* is wall time
minus busy. *CPU* is user and system time of the contestant's process, its threads included.
*Waited* is the time in which it was ready to run and other programs had its core. The servers have
a core of their own, the contestants share another, one running at a time. Langfuse's SDK sends to
a server in a thread of the program that wrote this report. The product is as it is shipped: it
remembers paid answers and relieves the garbage collector by itself after three runs. The row
*tuned* remembers none, as the floor does. Figures are medians, with quartiles or all rounds in
brackets."""


@dataclass(frozen=True)
class Findings:
    """Every round after the warm-up, by contestant, and what stands beside them."""

    provider: str
    alone: Mapping[str, Sequence[Round]]
    crowds: Mapping[int, Mapping[str, Sequence[Round]]]
    spans: float
    """Observations that arrived per traced question."""
    loads: Sequence[str]
    """Before and after."""

    @property
    def errors(self) -> list[str]:
        """What went wrong in any round."""
        crowded = [rounds for names in self.crowds.values() for rounds in names.values()]
        rounds = [each for rounds in [*self.alone.values(), *crowded] for each in rounds]
        return [error for each in rounds for error in each.errors]


class Goal(NamedTuple):
    """One thing that must hold."""

    name: str
    limit: str
    measured: str
    holds: bool


def report(found: Findings) -> str:
    """Return the whole report."""
    lines = ["# Overhead of the product", "", INTRODUCTION, "", *environment()]
    lines += [f"- before: {found.loads[0]}; after: {found.loads[1]}"]
    lines += [f"- search provider: {found.provider}"]
    lines += _table("Goals", "goal | limit | measured | ", _goal_rows(found))
    head = "| wall ms | busy ms | overhead ms | to the floor | CPU ms | to the floor | waited ms"
    lines += _table("One question at a time", head, _alone_rows(found.alone))
    head = "| calls | embedding items | tokens chat in / out, embeddings | connections"
    lines += _table("What one question calls", head, _call_rows(found.alone))
    head = "| at once | wall s | to the floor | CPU ms each | waited s | servers' CPU s | MiB"
    lines += _table("Many questions at once", head, _crowd_rows(found.crowds))
    lines += _table("Cost of the last question, in $", "part | list price", _cost_rows(found))
    return "\n".join([*lines, ""])


def goals(found: Findings) -> Iterator[Goal]:
    """Yield what must hold, with what was measured."""
    answered = [each for each in found.alone[PRODUCT] if not each.errors]
    yield from _exact_goals(answered)
    ours, floor = (_median(found.alone[name], cpu) for name in (PRODUCT, FLOOR))
    yield Goal("CPU, to the floor's", "<= 3.0", f"{ours / floor:.2f}", ours / floor <= 3)
    ratio, told = _to_floor(found.alone, overhead)
    yield Goal("overhead, to the floor's", "<= 2.3", told, ratio <= 2.3)
    traced, plain = (_median(found.alone[name], cpu) for name in (TRACED, PRODUCT))
    yield Goal(
        "CPU with Langfuse on, to that without",
        "<= 1.2",
        f"{traced / plain:.2f} ({traced - plain:.1f} ms, {found.spans:.0f} observations)",
        traced / plain <= 1.2,
    )
    for size, limit in ((50, 1.2), (200, 1.8)):
        ratio, told = _to_floor(found.crowds[size], wall)
        yield Goal(f"{size} at once, to the floor", f"<= {limit}", told, ratio <= limit)
    peak = max(each.peak_mib for sizes in found.crowds.values() for each in sizes[PRODUCT])
    yield Goal("memory with 200 at once", "<= 190 MiB", f"{peak:.0f} MiB", peak <= 190)
    yield Goal("errors", "0", str(len(found.errors)), not found.errors)
    yield from _cost_goals(answered)


def _exact_goals(rounds: Sequence[Round]) -> Iterator[Goal]:
    wanted = {"chat": 1, "search": world.QUERIES, "embeddings": 1}
    calls = {_calls(each) for each in rounds}
    told = " or ".join(sorted(calls))
    exact = all(dict(each.calls) == wanted for each in rounds)
    yield Goal(
        "calls of one question", f"1 chat, {world.QUERIES} search, 1 embeddings", told, exact
    )
    items = {each.embedding_items for each in rounds}
    most = world.PAGES + 1
    yield Goal("embedding items", f"{most}: pages + 1", _several(items), items == {most})
    new = sum(each.new_connections for each in rounds)
    yield Goal("new connections once warm", "0", str(new), new == 0)
    repeated = [_repeated(each) for each in rounds]
    yield Goal("pages twice in the top 20", "0", str(sum(repeated)), not any(repeated))
    foreign = sum(_foreign(each) for each in rounds)
    yield Goal("sources that nobody served", "0", str(foreign), foreign == 0)


def _cost_goals(rounds: Sequence[Round]) -> Iterator[Goal]:
    costs = [_costs(each) for each in rounds]
    ranks = [parts.get(RANK) for parts, _ in costs]
    known = [rank for rank in ranks if rank is not None]
    most = f"${max(known):.8f}" if len(known) == len(ranks) else "not known"
    cheap = len(known) == len(ranks) and max(known) < 0.0004
    yield Goal("cost of one rank", "< $0.0004", most, cheap)
    exact = all(
        total is not None
        and sum(Decimal(repr(part)) for part in parts.values() if part is not None)
        == Decimal(repr(total))
        for parts, total in costs
    )
    yield Goal("cost of a run is the sum of its parts", "exactly", "yes" if exact else "no", exact)


def _goal_rows(found: Findings) -> Iterator[Sequence[str]]:
    for goal in goals(found):
        yield goal.name, goal.limit, goal.measured, "pass" if goal.holds else "**miss**"


def _alone_rows(alone: Mapping[str, Sequence[Round]]) -> Iterator[Sequence[str]]:
    floor = alone[FLOOR]
    for name, rounds in alone.items():
        yield (
            name,
            str(Spread.of(each.wall_ms for each in rounds)),
            str(Spread.of(each.busy_ms for each in rounds)),
            str(Spread.of(each.overhead_ms for each in rounds)),
            f"{_median(rounds, overhead) / _median(floor, overhead):.2f}",
            str(Spread.of(each.cpu_ms for each in rounds)),
            f"{_median(rounds, cpu) / _median(floor, cpu):.2f}",
            str(Spread.of(each.waited_ms for each in rounds)),
        )


def _call_rows(alone: Mapping[str, Sequence[Round]]) -> Iterator[Sequence[str]]:
    for name, rounds in alone.items():
        tokens = rounds[-1].tokens
        yield (
            name,
            " or ".join(sorted({_calls(each) for each in rounds})),
            _several({each.embedding_items for each in rounds}),
            f"{tokens['chat input']} / {tokens['chat output']}, {tokens['embeddings']}",
            f"{sum(each.new_connections for each in rounds)} new in {len(rounds)} questions",
        )


def _crowd_rows(crowds: Mapping[int, Mapping[str, Sequence[Round]]]) -> Iterator[Sequence[str]]:
    for size, contestants in crowds.items():
        floor = _median(contestants[FLOOR], wall)
        for name, rounds in contestants.items():
            yield (
                name,
                str(size),
                _seconds(each.wall_ms for each in rounds),
                f"{_median(rounds, wall) / floor:.2f}",
                f"{_median(rounds, cpu) / size:.1f}",
                _seconds(each.waited_ms for each in rounds),
                f"{statistics.median(each.stub_cpu_ms / 1000 for each in rounds):.2f}",
                f"{max(each.peak_mib for each in rounds):.0f}",
            )


def _cost_rows(found: Findings) -> Iterator[Sequence[str]]:
    parts, total = _costs([each for each in found.alone[PRODUCT] if not each.errors][-1])
    for name, cost in [*parts.items(), ("the run", total)]:
        yield name, "not known" if cost is None else f"{Decimal(repr(cost)):f}"


def _costs(one: Round) -> tuple[dict[str, float | None], float | None]:
    """Return the costs of the stages and of the run, as the product told them."""
    telemetry = one.answers[0]["telemetry"]
    parts = {name: entry.get("cost_usd", 0.0) for name, entry in telemetry["nodes"].items()}
    return parts, telemetry["cost_usd"] if telemetry["cost_complete"] else None


def _repeated(one: Round) -> int:
    return sum(
        len(answer["urls"]) - len({world.page_of(url) for url in answer["urls"]})
        for answer in one.answers
    )


def _foreign(one: Round) -> int:
    return sum(
        world.page_of(url) not in world.pages(number)
        for number, answer in zip(one.numbers, one.answers, strict=True)
        for url in answer["urls"]
    )


def _calls(one: Round) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(one.calls).items()))


def _several(values: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(values)))


def _to_floor(rounds: Mapping[str, Sequence[Round]], of: Figure) -> tuple[float, str]:
    """Return the ratio of the medians, and the same in words beside that on a free core."""
    ratio = _median(rounds[PRODUCT], of) / _median(rounds[FLOOR], of)
    free = [
        _median(rounds[name], lambda each: of(each) - each.waited_ms) for name in (PRODUCT, FLOOR)
    ]
    return ratio, f"{ratio:.2f} (without waiting for a core {free[0] / free[1]:.2f})"


def _median(rounds: Sequence[Round], of: Figure) -> float:
    return statistics.median(map(of, rounds))


def _seconds(values_ms: Iterable[float]) -> str:
    values = [value / 1000 for value in values_ms]
    return f"{statistics.median(values):.2f} ({', '.join(f'{value:.2f}' for value in values)})"


def _table(title: str, head: str, rows: Iterable[Sequence[str]]) -> list[str]:
    rule = " | ".join("---" for _ in head.split("|"))
    lines = [head, rule, *(" | ".join(row) for row in rows)]
    return ["", f"## {title}", "", *(f"| {line} |" for line in lines)]

"""What a Prometheus server would read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Scrape:
    """The samples of one scrape."""

    text: str

    def value(self, metric: str, /, **labels: str) -> float | None:
        """The value of one series, None where there is none."""
        return self.series(metric).get(tuple(sorted(labels.items())))

    def series(self, name: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The values of one metric by their labels, sorted by name."""
        return {
            tuple(sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.text)
            for sample in family.samples
            if sample.name == name
        }

    def label_values(self) -> set[str]:
        """Every value of every label, but for the limits of buckets."""
        return {
            value
            for family in text_string_to_metric_families(self.text)
            for sample in family.samples
            for label, value in sample.labels.items()
            if label != "le"
        }


async def ascrape(app: Callable[..., Any]) -> Scrape:
    """Return what the ASGI application answers."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://metrics") as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return Scrape(answer.text)


def scrape(app: Callable[..., Any]) -> Scrape:
    """Return the same; blocks."""
    return asyncio.run(ascrape(app))

"""Whether Celery workers lose anything: 2,000 pages; workers, broker and database are killed.

Usage: celery_durability.py [--pages 2000] [--hosts 50] [--workers 4] [--kills 10]
[--broker-kills 1] [--database-kills 1] [--seed 1]. Starts a PostgreSQL server and a RabbitMQ broker
of its own. 1 % of the requests fail. Prints the times, and after how long the rows of killed
workers were claimed again; the exit code is 1 where that took too long, or where the export differs
from that of an undisturbed process with an embedded store.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.celery_under_kills import (  # pyright: ignore[reportMissingImports]
    KillPlan,
    ingested_under_kills,
)
from support.postgres_server import (  # pyright: ignore[reportMissingImports]
    postgres_server,
)
from support.rabbitmq_server import (  # pyright: ignore[reportMissingImports]
    rabbitmq_server,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

RECLAIMED_S = 5.0
"""Longest time from a worker's death to the next claim of its rows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--broker-kills", type=int, default=1)
    parser.add_argument("--database-kills", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    plan = KillPlan(**vars(parser.parse_args(arguments)))
    with (
        tempfile.TemporaryDirectory() as folder,
        rabbitmq_server() as broker,
        postgres_server() as postgres,
    ):
        run = ingested_under_kills(Path(folder), postgres, broker, plan)
    print(f"undisturbed, embedded: {run.calm_seconds:.1f} s, {plan.pages} pages")
    print(
        f"{plan.workers} workers, {plan.kills} of them killed, broker killed {plan.broker_kills} x,"
        f" database {plan.database_kills} x: {run.seconds:.1f} s, faults {run.faults}"
    )
    slowest_s = max(run.reclaimed_s, default=0.0)
    each = ", ".join(f"{seconds:.2f}" for seconds in sorted(run.reclaimed_s))
    print(f"rows of killed workers: {len(run.reclaimed_s)}, claimed again after {each} s")
    is_equal = run.export == run.calm_export and len(run.export) == plan.pages
    print(f"export: {'equal' if is_equal else 'ANOTHER ONE'}, {len(run.export)} pages")
    return 0 if is_equal and slowest_s <= RECLAIMED_S else 1


if __name__ == "__main__":
    raise SystemExit(main())

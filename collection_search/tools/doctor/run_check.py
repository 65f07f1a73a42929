"""Runs one check, within its time limit and with its errors caught."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...errors import CollectionSearchError, MissingExtraError
from ...text.redaction import redact
from .finding import Finding, failed_finding

if TYPE_CHECKING:
    from collections.abc import Coroutine


def mark_no_extra(finding: Finding, error: MissingExtraError) -> Finding:
    """Return the finding of a part whose package is not installed, with the command for it."""
    problem, _, command = str(error).partition(" Run: ")
    return failed_finding(finding, problem, f"Run: {command}" if command else "")


async def run_check(
    finding: Finding, check: Coroutine[Any, Any, Finding], *, limit_s: float
) -> Finding:
    """Return the result of the check; for one that fails or hangs, `finding` with the cause."""
    try:
        async with asyncio.timeout(limit_s):
            return await check
    except TimeoutError:
        return failed_finding(
            finding,
            f"no answer within {limit_s:g} s",
            "Check the network and the address, and run this again.",
            reachable=False,
        )
    except MissingExtraError as error:
        return mark_no_extra(finding, error)
    except CollectionSearchError as error:
        return failed_finding(finding, str(error))
    except Exception as error:  # noqa: BLE001 - a third party's adapter may raise anything
        cause = redact(str(error), most=200)
        return failed_finding(finding, f"the check failed: {type(error).__name__}: {cause}")

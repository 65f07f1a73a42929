"""A scripted resolver, whose names can have another address at each lookup."""

from __future__ import annotations

import socket
from collections import Counter
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ScriptedResolver(AbstractResolver):
    """Resolves these names only, without any server.

    The answers of a name are given in order, and the last one is repeated. An answer is one address
    or several with commas.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = names
        self.asked: Counter[str] = Counter()

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - both are given
    ) -> list[ResolveResult]:
        """Return the next answer for the name. Raises OSError for an unknown one."""
        answers = self.names.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        answer = answers[min(self.asked[host], len(answers) - 1)]
        self.asked[host] += 1
        return [_result(host, address, port) for address in answer.split(",")]

    async def close(self) -> None:
        """Do nothing."""


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=flags
    )

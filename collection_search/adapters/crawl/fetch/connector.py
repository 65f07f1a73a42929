"""Which IP addresses may be connected to: refuses those that a host name resolves to.

`url_rules` has refused the URL before, as it is written. Here every name is resolved once, each IP
address is judged, and the connection goes to one that is allowed. A socket to any other address is
refused, those written into the URL included, and the peer is checked again before the first byte
is sent.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from ....errors import FetchError

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace
    from yarl import URL

    from ...per_loop import Sockets
    from .url_rules import UrlRules

KEEP_ALIVE_S: Final = 4.0
"""Less than most servers keep an unused connection, so that none is used as it is being closed."""
_MAX_ANSWERS: Final = 6
_LOOKUPS_AT_ONCE: Final = 16


class _Dial:
    """The host and port that a connection is made for, and why it was refused."""

    __slots__ = ("host", "is_proxy", "port", "refusal")

    def __init__(self, url: URL, *, is_proxy: bool) -> None:
        self.host = (url.raw_host or "").removesuffix(".")
        self.port = url.port or 0
        self.is_proxy = is_proxy
        self.refusal: FetchError | None = None


_dial: ContextVar[_Dial | None] = ContextVar("collection_search_dial", default=None)


class JudgedConnector(aiohttp.TCPConnector):
    """Connects to what the gate allows.

    A refusal comes out of the request as FetchError (`blocked_address`). With an egress proxy it
    is the proxy that is dialled, and the proxy that judges where the names lead.
    """

    def __init__(self, gate: UrlRules, resolver: AbstractResolver, sockets: Sockets) -> None:
        self._dial_gate = gate
        self._dial_sockets = sockets
        super().__init__(
            limit=0,  # hosts have their turns
            use_dns_cache=False,
            resolver=_JudgedResolver(gate, resolver),
            socket_factory=self._judged_socket,
            keepalive_timeout=KEEP_ALIVE_S,
        )

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109
    ) -> ResponseHandler:
        dial = _Dial(req.proxy or req.url, is_proxy=req.proxy is not None)
        token = _dial.set(dial)
        try:
            made = await super()._create_connection(req, traces, timeout)
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            if dial.refusal is None or dial.refusal is error:
                raise
            raise dial.refusal from error
        finally:
            _dial.reset(token)
        self._check_peer(made, dial)
        return made

    def _judged_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        dial = _dial.get()
        if dial is None:
            raise OSError("a connection was asked for outside of a judged dial")
        number, port = address[4][:2]
        if port != dial.port or not _may_dial(self._dial_gate, dial, str(number)):
            dial.refusal = _refused(dial.host)
            raise dial.refusal
        made = socket.socket(*address[:3])
        self._dial_sockets.add(made)
        return made

    def _check_peer(self, made: ResponseHandler, dial: _Dial) -> None:
        transport = made.transport
        peer: Any = transport.get_extra_info("peername") if transport else None
        if peer and _may_dial(self._dial_gate, dial, str(peer[0])):
            return
        made.close()
        if peer:
            raise _refused(dial.host)
        raise FetchError(f"{dial.host} hung up at once", reason="connect_failed")


class SystemResolver(AbstractResolver):
    """The system's name service, asked in threads of its own: a slow one holds up nothing else."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses in the system's order. Raises OSError for an unknown name."""
        found = await asyncio.get_running_loop().run_in_executor(
            _lookups(), _looked_up, host, port, family
        )
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for family, _, _, _, address in found
        ]

    async def close(self) -> None:
        """Do nothing: the threads are shared."""


class _JudgedResolver(AbstractResolver):
    """Gives all answers of a resolver, or none: one that may not be dialled spoils the name."""

    def __init__(self, gate: UrlRules, inner: AbstractResolver) -> None:
        self._gate = gate
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        dial = _dial.get()
        if dial is None:
            raise OSError("a name was asked for outside of a judged dial")
        try:
            answers = await self._inner.resolve(host, port, family)
        except OSError as error:
            raise FetchError(
                f"the name {host} cannot be resolved",
                reason="dns_failed",
                retryable=error.errno not in {socket.EAI_NONAME, socket.EAI_NODATA},
            ) from error
        if not answers:
            raise FetchError(f"the name {host} has no address", reason="dns_failed")
        if not all(_may_dial(self._gate, dial, answer["host"]) for answer in answers):
            raise _refused(host)
        return [{**answer, "port": port} for answer in answers[:_MAX_ANSWERS]]

    async def close(self) -> None:
        await self._inner.close()


def _may_dial(gate: UrlRules, dial: _Dial, address: str) -> bool:
    return dial.is_proxy or gate.may_dial(dial.host, dial.port, address)


def _refused(host: str) -> FetchError:
    return FetchError(
        f"{host} leads to an address that is not on the public web",
        reason="blocked_address",
    )


@lru_cache(maxsize=1)
def _lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="name-lookup")


def _looked_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)

"""Opens the sockets to the web: connections to permitted IP addresses only.

`url_rules` has checked the URL before. Here every name is resolved once, each IP address is
checked, and only a permitted one is connected to, also when the URL itself names an IP address.
The peer is checked again before the first byte is sent.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from ....errors import FetchError
from .public_hosts import NEVER_WHY, NOT_PUBLIC_WHY, show_host

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace

    from ...per_loop import Sockets
    from .url_rules import UrlRules

KEEP_ALIVE_S: Final = 4.0
"""Less than on most servers, so that no connection is used while its server closes it."""
_MAX_ANSWERS: Final = 6
_LOOKUP_S: Final = 3.0
"""For the name of a permitted address behind an egress proxy."""
_LOOKUPS: Final = ThreadPoolExecutor(16, thread_name_prefix="name-lookup")


@dataclass(slots=True)
class _Dial:
    """The host and port of a new connection, and the error if it was refused."""

    host: str
    port: int
    is_proxy: bool
    refusal: FetchError | None = None


_dial: ContextVar[_Dial | None] = ContextVar("collection_search_dial", default=None)


class GuardedConnector(aiohttp.TCPConnector):
    """A connector that connects only to addresses that the rules allow.

    For others the request raises FetchError (`blocked_address`). With an egress proxy it connects
    to the proxy, and the proxy decides which addresses are allowed. Only names that the operator
    permitted are looked up before, where that is possible: no proxy need know that link-local
    addresses and the metadata of clouds are never permitted.
    """

    def __init__(self, rules: UrlRules, resolver: AbstractResolver, sockets: Sockets) -> None:
        self._dial_rules = rules
        self._dial_resolver = resolver
        self._dial_sockets = sockets
        super().__init__(
            limit=0,  # the throttles of the hosts limit connections
            use_dns_cache=False,
            resolver=_GuardedResolver(rules, resolver),
            socket_factory=self._guarded_socket,
            keepalive_timeout=KEEP_ALIVE_S,
        )

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109
    ) -> ResponseHandler:
        url = req.proxy or req.url
        host = (url.raw_host or "").removesuffix(".")
        dial = _Dial(host, url.port or 0, is_proxy=req.proxy is not None)
        if dial.is_proxy:
            await self._judge_behind_proxy(req.url.raw_host or "", req.url.port or 0)
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

    async def _judge_behind_proxy(self, host: str, port: int) -> None:
        host = host.removesuffix(".")
        if not self._dial_rules.is_named(host, port):
            return
        try:
            async with asyncio.timeout(_LOOKUP_S):
                answers = await self._dial_resolver.resolve(host, port)
        except OSError:  # a TimeoutError, too; only the proxy may know the name
            return
        if not all(self._dial_rules.may_dial(host, port, answer["host"]) for answer in answers):
            raise _refused(host, NEVER_WHY)

    def _guarded_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        dial = _dial.get()
        if dial is None:
            raise OSError("a connection outside of a checked request")
        number, port = address[4][:2]
        if port != dial.port or not _may_dial(self._dial_rules, dial, str(number)):
            dial.refusal = _refusal_of(self._dial_rules, dial)
            raise dial.refusal
        made = socket.socket(*address[:3])
        self._dial_sockets.add(made)
        return made

    def _check_peer(self, made: ResponseHandler, dial: _Dial) -> None:
        transport = made.transport
        peer: Any = transport.get_extra_info("peername") if transport else None
        if peer and _may_dial(self._dial_rules, dial, str(peer[0])):
            return
        made.close()
        if peer:
            raise _refusal_of(self._dial_rules, dial)
        raise FetchError(
            f"{show_host(dial.host)} closed the connection at once", reason="connect_failed"
        )


class SystemResolver(AbstractResolver):
    """The system's name service, called in separate threads: it may be slow."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses in the system's order. Raises OSError for an unknown name."""
        lookup = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(_LOOKUPS, lookup)
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


class _GuardedResolver(AbstractResolver):
    """A resolver that refuses a name if one of its addresses is not allowed."""

    def __init__(self, rules: UrlRules, inner: AbstractResolver) -> None:
        self._rules = rules
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        dial = _dial.get()
        if dial is None:
            raise OSError("a name lookup outside of a checked request")
        try:
            answers = await self._inner.resolve(host, port, family)
        except OSError as error:
            raise FetchError(
                f"the name {show_host(host)} cannot be resolved",
                reason="dns_failed",
                retryable=error.errno not in {socket.EAI_NONAME, socket.EAI_NODATA},
            ) from error
        if not answers:
            raise FetchError(f"the name {show_host(host)} has no address", reason="dns_failed")
        if not all(_may_dial(self._rules, dial, answer["host"]) for answer in answers):
            raise _refusal_of(self._rules, dial)
        return [{**answer, "port": port} for answer in answers[:_MAX_ANSWERS]]

    async def close(self) -> None:
        await self._inner.close()


def _may_dial(rules: UrlRules, dial: _Dial, address: str) -> bool:
    return dial.is_proxy or rules.may_dial(dial.host, dial.port, address)


def _refusal_of(rules: UrlRules, dial: _Dial) -> FetchError:
    is_named = rules.is_named(dial.host, dial.port)
    return _refused(dial.host, NEVER_WHY if is_named else NOT_PUBLIC_WHY)


def _refused(host: str, why: str) -> FetchError:
    return FetchError(f"{show_host(host)} leads to {why}", reason="blocked_address")

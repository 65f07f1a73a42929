"""Which addresses of the web may be asked: a pure judgement of URLs, names, numbers and ports.

An address is judged twice: here as it is written, and in `dial` as the numbers it led to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote, urljoin

from ...errors import ConfigError, FetchError, InvalidUrlError
from ...urls import normalize_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...errors import FetchReason

WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
MAX_URL_CHARS: Final = 8_000
_MAX_PORT: Final = 65_535
_MAX_NAME: Final = 253
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_V4_SPECIAL: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a public number that leads to Azure's own services
    )
)  # fmt: skip
_V6_GLOBAL: Final = IPv6Network("2000::/3")
_V6_SPECIAL: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32", "3fff::/20",  # documentation
        "2002::/16",  # 6to4
    )
)  # fmt: skip
"""All forms that carry an IPv4 address lie here or outside of 2000::/3: mapped, compatible, SIIT,
NAT64, 6to4, Teredo. They are refused whatever they carry."""

_SPECIAL_USE: Final = frozenset({
    "alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test",
    "corp", "domain", "home", "intra", "intranet", "lan", "localdomain", "mail", "private", "svc",
    "workgroup",  # never delegated, used inside of networks
})  # fmt: skip

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<path>(?:/[^?#]*)?)"
    r"(?:\?(?P<query>[^#]*))?(?:\#.*)?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]+)(?::(?P<port>[0-9]{0,9}))?", re.ASCII)
_REFUSED_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_RAW_BYTES = re.compile(r"[\udc80-\udcff]+")
_PLAIN = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]|]*")
_PLAIN_PATH = re.compile(r"(?:/(?:[A-Za-z0-9\-_~!$&'()*+,;=:@][A-Za-z0-9\-._~!$&'()*+,;=:@]*)?)*")
_SAFE: Final = "-._~!$&'()*+,;=:@/?%[]|"
_ANY_ORIGIN: Final = "http://a.example"


class Host(NamedTuple):
    """A host as it is dialled: a name without its final dot, or a number without brackets."""

    name: str
    refused: FetchReason | None = None
    """Why it is not asked, unless the operator named it."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """An address that may be asked, as it will be sent."""

    url: str
    """ASCII, without fragment, dot segments and default port."""
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """The scheme, host and port that a robots.txt speaks for."""
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}"

    @property
    def site(self) -> str:
        """Whose turn is taken: the host, with its port unless that is the scheme's own."""
        return self.host if self.port in {80, 443} else f"{_bracketed(self.host)}:{self.port}"


@lru_cache(maxsize=1 << 12)
def is_public(address: str) -> bool:
    """Tell whether the IP address belongs to the public web, by the IANA registries.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:93.184.215.14")
    (True, False, False)
    """
    try:
        if ":" in address:
            v6 = IPv6Address(address)
            return (
                v6.scope_id is None
                and v6 in _V6_GLOBAL
                and not any(v6 in special for special in _V6_SPECIAL)
            )
        v4 = IPv4Address(address)
    except AddressValueError:
        return False
    return not any(v4 in special for special in _V4_SPECIAL)


class Gate:
    """What may be asked: the public web on its ports, and what the operator named.

    `entries` are single addresses as `host:port`, such as `wiki.intra:443` or `127.0.0.1:8123`.
    They count when they are asked for, not when another host's page leads to them. Raises
    ConfigError for one that is neither.
    """

    def __init__(self, *, ports: Iterable[int] = WEB_PORTS, entries: Iterable[str] = ()) -> None:
        self._ports = frozenset(ports)
        self._entries = frozenset(_entry(text) for text in entries)

    def target(self, url: str, *, source: Target | None = None) -> Target:
        """Return the URL as it may be asked; `source` is the page that led to it.

        Raises FetchError with a reason of `bad_url`, `bad_scheme`, `credentials_in_url`,
        `blocked_host`, `blocked_address` or `blocked_port`; a retry fails again.

        >>> Gate().target("https://Example.com./a/../b?q=ä#top").url
        'https://example.com/b?q=%C3%A4'
        """
        scheme, authority, path, query = _split(url)
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            raise _refusal("bad_url", "the URL has no valid host and port")
        port = int(found["port"] or _DEFAULT_PORTS[scheme])
        if not 0 < port <= _MAX_PORT:
            raise _refusal("bad_url", f"the URL's port is not between 1 and {_MAX_PORT}")
        host = judged_host(found["host"])
        if host.refused == "bad_url":
            raise _refusal("bad_url", host.why)
        if self.is_named(host.name, port):
            if source and not self._leads_on(source, host.name):
                text = "is a named address, which pages of other hosts do not lead to"
                raise _refusal("blocked_host", f"{host.name} {text}")
        else:
            if host.refused:
                raise _refusal(host.refused, f"{host.name}: {host.why}")
            if port not in self._ports:
                raise _refusal(
                    "blocked_port", f"port {port} of {host.name} is not one of the web's"
                )
        shown = _bracketed(host.name)
        if port != _DEFAULT_PORTS[scheme]:
            shown = f"{shown}:{port}"
        address = f"{scheme}://{shown}{_path(path)}"
        if query is not None:
            address = f"{address}?{_plain(query)}"
        return Target(address, scheme, host.name, port)

    def redirected(self, source: Target, location: str) -> Target:
        """Return where a redirect of `source` leads, judged like any other address.

        Raises FetchError; `bad_redirect` when the header holds no usable address.
        """
        location = _RAW_BYTES.sub(_quoted_bytes, location.strip(" \t"))
        if not location or _REFUSED_CHARS.search(location):
            raise _refusal("bad_redirect", f"{source.host} redirects to no valid address")
        try:
            return self.target(
                location if _SCHEME.match(location) else urljoin(source.url, location),
                source=source,
            )
        except FetchError as error:
            if error.reason == "bad_url":
                raise _refusal("bad_redirect", f"{source.host} redirects to: {error}") from error
            raise
        except ValueError as error:
            text = f"{source.host} redirects to no valid address"
            raise _refusal("bad_redirect", text) from error

    def is_named(self, host: str, port: int) -> bool:
        """Tell whether the operator named this very host and port."""
        return (host, port) in self._entries

    def may_dial(self, host: str, port: int, address: str) -> bool:
        """Tell whether a connection to `address` may be made for the URL's host and port."""
        return is_public(address) or self.is_named(host, port)

    def _leads_on(self, source: Target, host: str) -> bool:
        """Tell whether the page may lead to a named port of `host`: from one to another of it."""
        return source.host == host and self.is_named(source.host, source.port)


@lru_cache(maxsize=1 << 12)
def judged_host(text: str) -> Host:
    """Return the host of a URL as it is dialled, or why it is not.

    >>> judged_host("EXAMPLE.com."), judged_host("0x7f.1").refused, judged_host("printer").refused
    (Host(name='example.com', refused=None, why=''), 'blocked_host', 'blocked_host')
    """
    if text.startswith("["):
        return _v6_host(text[1:-1])
    if "%" in text:
        text = unquote(text)  # bytes that are no text leave a character that no name holds
    name = text.lower() if text.isascii() else _a_labels(text)
    name = name.removesuffix(".")
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        return Host(name, "bad_url", "the URL's host is not a valid name")
    last = name.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        return _v4_host(name)
    if last == name:
        return Host(name, "blocked_host", "a name without a dot belongs to a private network")
    if last in _SPECIAL_USE:
        return Host(name, "blocked_host", f"names under .{last} are not on the public web")
    return Host(name)


def _v6_host(text: str) -> Host:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return Host(text, "bad_url", "the URL's host is not a valid IPv6 address")
    if address.scope_id is not None:
        return Host(text, "bad_url", "the URL's host is bound to one network interface")
    return _number(address.compressed)


def _v4_host(name: str) -> Host:
    try:
        return _number(str(IPv4Address(name)))
    except AddressValueError:
        return Host(name, "blocked_host", "a number that is no plain IPv4 address")


def _number(address: str) -> Host:
    if is_public(address):
        return Host(address)
    return Host(address, "blocked_address", "the address is not on the public web")


def _a_labels(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError:
        return ""  # no valid name


def _split(url: str) -> tuple[str, str, str, str | None]:
    """Return scheme, authority, path and query."""
    url = url.strip(" \t\r\n\f")
    if len(url) > MAX_URL_CHARS:
        raise _refusal("bad_url", f"the URL is longer than {MAX_URL_CHARS} characters")
    if _REFUSED_CHARS.search(url):
        raise _refusal("bad_url", "the URL holds control characters or broken text")
    found = _URL.fullmatch(url)
    if found is None:
        scheme = _SCHEME.match(url)
        if scheme and scheme[1].lower() not in _DEFAULT_PORTS:
            raise _refusal("bad_scheme", f"{scheme[1][:20]}: is neither http nor https")
        raise _refusal("bad_url", "not an absolute http(s) URL with a host")
    if "@" in found["authority"]:
        raise _refusal("credentials_in_url", "the URL holds a user name or password; remove it")
    return found["scheme"].lower(), found["authority"], found["path"], found["query"]


def _path(path: str) -> str:
    """Return the path without dot segments, so that robots.txt and the server read the same."""
    if not path or _PLAIN_PATH.fullmatch(path):
        return path or "/"
    try:
        return normalize_url(_ANY_ORIGIN + path).removeprefix(_ANY_ORIGIN)
    except InvalidUrlError as error:
        raise _refusal("bad_url", str(error)) from error


def _plain(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quote(text, safe=_SAFE)


def _quoted_bytes(raw: re.Match[str]) -> str:
    return quote(raw[0].encode("ascii", "surrogateescape"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _entry(text: str) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text.strip())
    host = judged_host(found["host"]) if found else None
    port = int(found["port"] or 0) if found else 0
    if host is None or not host.name or host.refused == "bad_url" or not 0 < port <= _MAX_PORT:
        raise ConfigError(f"{text!r} is no single address; write host:port, such as wiki.intra:443")
    return host.name, port


def _refusal(reason: FetchReason, message: str) -> FetchError:
    return FetchError(message, reason=reason)

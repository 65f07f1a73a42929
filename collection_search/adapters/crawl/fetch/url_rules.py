"""Which URLs may be asked, judged as they are written: scheme, host and port. No name is resolved.

A URL is refused twice. This module refuses the URL itself, such as `ftp://`, port 22 or
`http://127.0.0.1/`, before anything is sent. `connector` refuses the IP address that a permitted
host name resolves to, at the moment of the connection, also after a redirect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin

from ....errors import ConfigError, FetchError, InvalidUrlError
from ....text.urls import normalize_url
from .public_hosts import is_public, judge_host

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....errors import FetchReason

WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
MAX_URL_CHARS: Final = 8_000
_MAX_PORT: Final = 65_535
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]*)(?P<path>(?:/[^?#]*)?)"
    r"(?:\?(?P<query>[^#]*))?(?:\#.*)?",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]+)(?::(?P<port>[0-9]{0,9}))?", re.ASCII)
_REFUSED_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_RAW_BYTES = re.compile(r"[\udc80-\udcff]+")
_PLAIN = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]|]*")
_PLAIN_PATH = re.compile(r"(?:/(?:[A-Za-z0-9\-_~!$&'()*+,;=:@][A-Za-z0-9\-._~!$&'()*+,;=:@]*)?)*")
_SAFE: Final = "-._~!$&'()*+,;=:@/?%[]|"
_ANY_ORIGIN: Final = "http://a.example"


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


class UrlRules:
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

        >>> UrlRules().target("https://Example.com./a/../b?q=ä#top").url
        'https://example.com/b?q=%C3%A4'
        """
        scheme, authority, path, query = _split(url)
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            raise _refusal("bad_url", "the URL has no valid host and port")
        port = int(found["port"] or _DEFAULT_PORTS[scheme])
        if not 0 < port <= _MAX_PORT:
            raise _refusal("bad_url", f"the URL's port is not between 1 and {_MAX_PORT}")
        host = judge_host(found["host"])
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

    def redirect(self, source: Target, location: str) -> Target:
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
    host = judge_host(found["host"]) if found else None
    port = int(found["port"] or 0) if found else 0
    if host is None or not host.name or host.refused == "bad_url" or not 0 < port <= _MAX_PORT:
        raise ConfigError(f"{text!r} is no single address; write host:port, such as wiki.intra:443")
    return host.name, port


def _refusal(reason: FetchReason, message: str) -> FetchError:
    return FetchError(message, reason=reason)

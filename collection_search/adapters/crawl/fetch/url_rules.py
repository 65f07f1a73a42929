"""Which URLs may be fetched, by scheme, host and port. No name is resolved here.

This module refuses a URL such as `ftp://`, port 22 or `http://127.0.0.1/` before anything is sent.
At the time of the connection `connector` checks the IP addresses of the host name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin

from ....errors import ConfigError, FetchError, InvalidUrlError
from ....text.urls import MAX_PORT, mask_login, normalize_url
from .public_hosts import NEVER_WHY, check_host, is_never_permitted, is_public, show_host

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....errors import FetchReason
    from .public_hosts import Host

WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
MAX_URL_CHARS: Final = 8_000
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
    """A permitted address, as it will be sent."""

    url: str
    """ASCII, without fragment, dot segments and default port."""
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """The scheme, host and port that a robots.txt applies to."""
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}"

    @property
    def site(self) -> str:
        """The key of the throttle: the host, with a port other than 80 and 443."""
        return self.host if self.port in {80, 443} else f"{_bracketed(self.host)}:{self.port}"

    @property
    def netloc(self) -> str:
        """The host as the URL has it: with a port other than the scheme's own."""
        default = 443 if self.scheme == "https" else 80
        host = _bracketed(self.host)
        return host if self.port == default else f"{host}:{self.port}"


class UrlRules:
    """The rules for URLs: the public web on its ports, and addresses that the operator named.

    `entries` are single addresses as `host:port`, such as `wiki.intra:443` or `127.0.0.1:8123`.
    Pages of other hosts may not lead to them, and no entry permits link-local addresses and the
    metadata services of clouds. Raises ConfigError for an invalid entry.
    """

    def __init__(self, *, ports: Iterable[int] = WEB_PORTS, entries: Iterable[str] = ()) -> None:
        self._ports = frozenset(ports)
        self._entries = frozenset(_entry(text) for text in entries)

    def target(self, url: str, *, source: Target | None = None) -> Target:
        """Return the URL as it will be sent; `source` is the page that contains it.

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
        if not 0 < port <= MAX_PORT:
            raise _refusal("bad_url", f"the URL's port is not between 1 and {MAX_PORT}")
        host = check_host(found["host"])
        if host.refused == "bad_url":
            raise _refusal("bad_url", host.why)
        self._check(host, port, source)
        shown = _bracketed(host.name)
        if port != _DEFAULT_PORTS[scheme]:
            shown = f"{shown}:{port}"
        address = f"{scheme}://{shown}{_path(path)}"
        if query is not None:
            address = f"{address}?{_plain(query)}"
        return Target(address, scheme, host.name, port)

    def _check(self, host: Host, port: int, source: Target | None) -> None:
        """Raise FetchError for an address that is neither public nor named for this source."""
        is_named = self.is_named(host.name, port)
        if host.refused and not is_named:
            raise _refusal(host.refused, f"{show_host(host.name)}: {host.why}")
        if is_never_permitted(host.name):
            reason: FetchReason = host.refused or "blocked_host"
            raise _refusal(reason, f"{show_host(host.name)}: {NEVER_WHY}")
        if not is_named:
            if port not in self._ports:
                text = f"port {port} of {show_host(host.name)} is not a permitted port"
                raise _refusal("blocked_port", text)
        elif source and not (source.host == host.name and self.is_named(host.name, source.port)):
            text = "is a named address, which pages of other hosts may not lead to"
            raise _refusal("blocked_host", f"{show_host(host.name)} {text}")

    def redirect(self, source: Target, location: str) -> Target:
        """Return the target of a redirect of `source`, checked like any other address.

        Raises FetchError, with `bad_redirect` when the header has no usable address.
        """
        location = _RAW_BYTES.sub(_quoted_bytes, location.strip(" \t"))
        invalid = _refusal(
            "bad_redirect", f"{show_host(source.host)} redirects to no valid address"
        )
        if not location or _REFUSED_CHARS.search(location):
            raise invalid
        try:
            url = location if _SCHEME.match(location) else urljoin(source.url, location)
            return self.target(url, source=source)
        except FetchError as error:
            if error.reason == "bad_url":
                raise _refusal(
                    "bad_redirect", f"{show_host(source.host)} redirects to: {error}"
                ) from error
            raise
        except ValueError as error:
            raise invalid from error

    def is_named(self, host: str, port: int) -> bool:
        """Return whether the operator named this host and port."""
        return (host, port) in self._entries

    def may_dial(self, host: str, port: int, address: str) -> bool:
        """Return whether the URL's host and port may be connected to at `address`."""
        return is_public(address) or (self.is_named(host, port) and not is_never_permitted(address))


def _split(url: str) -> tuple[str, str, str, str | None]:
    """Return scheme, authority, path and query."""
    url = url.strip(" \t\r\n\f")
    if len(url) > MAX_URL_CHARS:
        raise _refusal("bad_url", f"the URL is longer than {MAX_URL_CHARS} characters")
    if _REFUSED_CHARS.search(url):
        raise _refusal("bad_url", "the URL contains control characters or broken text")
    found = _URL.fullmatch(url)
    if found is None:
        scheme = _SCHEME.match(url)
        if scheme and scheme[1].lower() not in _DEFAULT_PORTS:
            raise _refusal("bad_scheme", f"{scheme[1][:20]}: is neither http nor https")
        raise _refusal("bad_url", "not an absolute http(s) URL with a host")
    if "@" in found["authority"]:
        raise _refusal("credentials_in_url", "the URL contains a user name or password; remove it")
    return found["scheme"].lower(), found["authority"], found["path"], found["query"]


def _path(path: str) -> str:
    """Return the path without dot segments, as robots.txt and the server will see it."""
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
    host = check_host(found["host"]) if found else None
    port = int(found["port"] or 0) if found else 0
    if host is None or not host.name or host.refused == "bad_url" or not 0 < port <= MAX_PORT:
        shown = mask_login(text)
        raise ConfigError(
            f"{shown!r} is no single address; write host:port, such as wiki.intra:443"
        )
    return host.name, port


def _refusal(reason: FetchReason, message: str) -> FetchError:
    return FetchError(message, reason=reason)

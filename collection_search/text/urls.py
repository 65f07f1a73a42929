"""URLs in normal form, and keys that find duplicates.

`normalize_url` follows the syntax-based normalisation of RFC 3986 (section 6.2.2) and removes
tracking parameters. `url_key` changes more and is never shown or fetched; it never merges two
pages. Both work on the raw text, since parsing and rewriting a query would change `%20`, `?flag`
and more.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address
from operator import itemgetter
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

from ..errors import InvalidUrlError

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

TRACKING_PREFIX: Final = "utm_"
TRACKING_NAMES: Final = frozenset(
    {"gclid", "fbclid", "igshid", "msclkid", "mc_eid", "vero_conv", "vero_id", "yclid"}
)
"""Parameters that do not change a page; case matters."""

_NOISE: Final = frozenset({
    "_gl", "_ga", "dclid", "gad_campaignid", "gad_source", "gbraid", "gclsrc", "srsltid", "wbraid",
    "igsh", "li_fat_id", "ttclid", "twclid",  # social networks, after Google
    "_hsenc", "_hsmi", "mc_cid", "mkt_tok",  # newsletters
    "mtm_campaign", "mtm_keyword", "pk_campaign", "pk_kwd",  # Matomo
    "jsessionid", "phpsessid",
})  # fmt: skip
"""Further click and session ids, which only `url_key` ignores."""

_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_URL = re.compile(
    r"""(?P<scheme>https?)://
    (?P<host>\[[^\]/?#@]*\]|[^\[\]/?#@:]+)(?::(?P<port>[0-9]*))?
    (?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?:\#.*)?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_USERINFO = re.compile(r"https?://[^/?#]*@", re.ASCII | re.IGNORECASE)
_LOGIN = re.compile(r"(?:(?<=://)|^(?![A-Za-z][A-Za-z0-9+.-]*://))(?P<user>[^/?#@:]*:)?[^/?#]*@")
_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_MAX_HOST_NAME = 254
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}
MAX_PORT: Final = 65_535
_MAX_REMEMBERED: Final = 300

_HEX = "[0-9A-Fa-f]"
_ESCAPE = re.compile(
    rf"(?P<stray>%{_HEX}?)?(?P<escape>%{_HEX}{{2}})|[^%A-Za-z0-9\-._~!$&'()*+,;=:@/?\[\]]+"
)
_UNRESERVED: Final = {f"%{ord(char):02X}": char for char in ascii_letters + digits + "-._~"}

_SAFE = r"A-Za-z0-9\-_~!$&'()*+,;=:@\[\]"
_NORMAL = re.compile(
    rf"""(?P<address>https?://
    (?=[^/]{{1,{_MAX_HOST_NAME}}}/)(?:[a-z0-9_-]{{1,63}}\.)++[a-z][a-z0-9_-]{{0,62}}
    (?:/(?:[{_SAFE}][{_SAFE}.]*+)?)++)(?:\?(?P<query>[{_SAFE}./?]*+))?+(?:\#[!-~]*+)?+""",
    re.VERBOSE,
)
"""A fast path for most URLs: only the parameters and the fragment need work."""

_KEY_HOST_NOISE = re.compile(
    r"\.(?=:[0-9]+$|$)"
    r"|(?<=[a-z])\.m(?=\.(?:wiki(?:books|news|pedia|quote|source|versity|voyage)|wiktionary)\.org)"
)
_KEY_SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)


def mask_login(address: str) -> str:
    """Return the address without the password in it, or without a login that is a token.

    >>> mask_login("https://ann:secret@proxy.example:8080/v1"), mask_login("token@host/@a")
    ('https://ann:***@proxy.example:8080/v1', '***@host/@a')
    """
    return _LOGIN.sub(lambda found: f"{found['user'] or ''}***@", address, count=1)


def normalize_url(url: str) -> str:
    """Return the normal form of an absolute http(s) URL: plain ASCII, idempotent.

    Scheme and host are in lower case (international names as A-labels), the default port, dot
    segments, fragment, empty and tracking parameters are gone, parameters are sorted by name
    alone, so that repeated names keep their order. Escapes are in upper case; escaped letters,
    digits and `-._~` are written plainly, and what a URL may not hold is escaped as UTF-8.

    Raises InvalidUrlError for everything else: other schemes, relative references, control
    characters, user names or passwords, impossible hosts and ports.

    >>> normalize_url("https://Example.COM/page?utm_source=fb&b=2&a=1#section")
    'https://example.com/page?a=1&b=2'
    """
    return _remembered_form(url) if len(url) <= _MAX_REMEMBERED else _normal_form(url)


def _normal_form(url: str) -> str:
    url = url.strip(" ")
    normal = _NORMAL.fullmatch(url)
    if normal:
        address, query = normal.groups()
        query = _query(query, _is_tracking) if query else ""
        return f"{address}?{query}" if query else address
    if _REFUSED.search(url):
        raise InvalidUrlError("the URL holds control characters or broken text; remove them")
    match = _URL.fullmatch(url)
    if match is None:
        raise InvalidUrlError(_what_is_wrong(url))
    scheme, host, port, path, query = match.groups()
    scheme = scheme.lower()
    address = f"{scheme}://{_host(host)}{_port(port, scheme)}{_path(path or '/')}"
    query = _query(_escaped(query), _is_tracking) if query else ""
    return f"{address}?{query}" if query else address


_remembered_form = lru_cache(maxsize=1 << 8)(_normal_form)
"""Worker, result and key of a page need it one after the other; the cache takes 128 KiB."""


def url_key(url: str) -> str:
    """Return a key that is equal only for URLs of the same page; for finding duplicates.

    Pass the URL as it was found, since routes in the fragment (`#!...`, `#/...`) count.
    Ignored are: a final dot of the host, the mobile host of Wikimedia's sites, click and session
    ids, and whether a space in the query is written `+` or `%20`. Path and values keep their case.
    The scheme is written only where it is `http`.

    Raises InvalidUrlError where `normalize_url` does.

    >>> url_key("https://example.com/docs/?gclid=1"), url_key("http://www.example.com/docs")
    ('example.com/docs/', 'http://www.example.com/docs')
    """
    is_common = len(url) <= _MAX_REMEMBERED and url.isascii()
    return _remembered_key(url) if is_common else _key(url)


def _key(url: str) -> str:
    scheme, _, address = normalize_url(url).partition("://")
    address, _, query = address.partition("?")
    host, _, path = address.partition("/")
    if ".m." in host or ".:" in host or host.endswith("."):
        host = _KEY_HOST_NOISE.sub("", host)
    if ";" in path:
        path = _KEY_SESSION.sub("", path)
    if query:
        query = _query(query.replace("+", "%20"), _is_noise)
    route = _route(url) if "#" in url else ""
    start = "" if scheme == "https" else f"{scheme}://"
    return f"{start}{host}/{path}{query and '?'}{query}{route}"


_remembered_key = lru_cache(maxsize=1 << 13)(_key)
"""A run needs the key of a page several times; the cache takes 4 to 8 MiB."""


def host_of(url: str) -> str:
    """Return the host of a URL in normal form, without its port.

    >>> host_of("https://docs.python.org/3/"), host_of("http://[::1]:8080/")
    ('docs.python.org', '[::1]')
    """
    host = url.partition("://")[2].partition("/")[0]
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).rstrip(".")


def host_of_key(key: str) -> str:
    """Return the host of a `url_key`, with its port, without `www.`.

    >>> host_of_key(url_key("http://www.example.com:8080/?a=1"))
    'example.com:8080'
    """
    return key.removeprefix("http://").partition("/")[0].removeprefix("www.")


def is_pdf(url: str, content_type: str | None = None) -> bool:
    """Return whether the path ends in `.pdf` or the content type contains "pdf".

    >>> is_pdf("https://example.com/Paper.PDF?download=1"), is_pdf("https://example.com/?f=a.pdf")
    (True, False)
    """
    if content_type is not None and "pdf" in content_type.lower():
        return True
    address = url.partition("#")[0].partition("?")[0].partition("://")[2]
    return "/" in address and address[-4:].lower() == ".pdf"


def _what_is_wrong(url: str) -> str:
    if _USERINFO.match(url):
        return "the URL holds a user name or password; remove what stands before the @"
    return "not an absolute http(s) URL with a host, such as https://example.com/page"


def _host(host: str) -> str:
    if host.startswith("["):
        return _ipv6(host)
    name = host.lower() if host.isascii() else _a_labels(host)
    if len(name) > _MAX_HOST_NAME or not _HOST_NAME.fullmatch(name):
        raise InvalidUrlError("the URL's host is not a valid name")
    last = name.rstrip(".").rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        return str(_parsed(IPv4Address, name.rstrip("."), "IPv4 address"))
    return name


def _parsed(parse: Callable[[str], _T], host: str, kind: str) -> _T:
    try:
        return parse(host)
    except ValueError:  # also of addresses and of international names
        raise InvalidUrlError(f"the URL's host is not a valid {kind}") from None


def _a_labels(host: str) -> str:
    import idna

    return _parsed(partial(idna.encode, uts46=True), host, "international name").decode("ascii")


def _ipv6(host: str) -> str:
    address = _parsed(IPv6Address, host[1:-1], "IPv6 address")
    if address.scope_id is not None:
        raise InvalidUrlError("the URL's host is bound to one network interface; remove the zone")
    return f"[{address.compressed}]"


def _port(port: str | None, scheme: str) -> str:
    if not port:
        return ""
    number = port.lstrip("0") or "0"
    if len(number) > len(str(MAX_PORT)) or int(number) > MAX_PORT:
        raise InvalidUrlError(f"the URL's port is larger than {MAX_PORT}")
    return "" if number == _DEFAULT_PORT[scheme] else f":{number}"


def _path(path: str) -> str:
    """Return the path without dot segments (RFC 3986, section 5.2.4)."""
    path = _escaped(path)
    if "/." not in path:
        return path
    parts: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del parts[-1:]
        elif segment != ".":
            parts.append(segment)
    if segments[-1] in {".", ".."}:
        parts.append("")
    return "/" + "/".join(parts)


def _query(query: str, is_dropped: Callable[[str], bool]) -> str:
    named = [(part.partition("=")[0], part) for part in query.split("&") if part]
    pairs = [pair for pair in named if not is_dropped(pair[0])]
    if len(pairs) > 1:
        pairs.sort(key=itemgetter(0))
    return "&".join([part for _, part in pairs])


def _is_tracking(name: str) -> bool:
    return name.startswith(TRACKING_PREFIX) or name in TRACKING_NAMES


def _is_noise(name: str) -> bool:
    name = name.lower()
    return name in _NOISE or _is_tracking(name)


def _route(url: str) -> str:
    """Return the part of the fragment that chooses a page, with its `#`, or nothing."""
    route = url.strip(" ").partition("#")[2].partition(":~:")[0]
    return f"#{_escaped(route)}" if route.startswith(("!", "/")) and route.strip("!/") else ""


def _escaped(text: str) -> str:
    return _ESCAPE.sub(_one_escape, text)


def _one_escape(match: re.Match[str]) -> str:
    """Return one escape in its normal form.

    An escape right after a stray `%` stays as it is: `%%34%31` decoded would read as `%41`.
    """
    stray, escape = match.groups()
    if escape is None:
        return quote(match[0], safe="")
    escape = escape.upper()
    return f"{stray}{escape}" if stray else _UNRESERVED.get(escape, escape)

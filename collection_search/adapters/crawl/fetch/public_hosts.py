"""Which host names and IP addresses belong to the public web, decided by their text alone."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from ....errors import NEVER_PERMITTED

if TYPE_CHECKING:
    from ....errors import FetchReason

_MAX_NAME: Final = 253
_LONGEST_SHOWN: Final = 60
"""A site chooses the names of its hosts, and could write sentences in them."""
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
_V6_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_V6_TEREDO: Final = IPv6Network("2001::/32")
_V6_SPECIAL: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32", "3fff::/20",  # documentation
        "2002::/16",  # 6to4
    )
)  # fmt: skip
"""All forms that contain an IPv4 address are here or outside of 2000::/3: mapped, compatible, SIIT,
NAT64, 6to4, Teredo. They are always refused."""

_NEVER: Final = tuple(
    ip_network(network)
    for network in (
        "169.254.0.0/16", "fe80::/10",  # link-local; most clouds have their metadata here
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32", "fd00:c1::a9fe:a9fe/128",  # Oracle
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google
        "fd00:42::42/128",  # Scaleway
    )
)  # fmt: skip
"""Link-local addresses and the metadata services of clouds, which hand out credentials."""
_NEVER_NAMES: Final = frozenset({
    "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal",
    "metadata.tencentyun.com",
})  # fmt: skip

_SPECIAL_USE: Final = frozenset({
    "alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test",
    "corp", "domain", "home", "intra", "intranet", "lan", "localdomain", "mail", "private", "svc",
    "workgroup",  # never delegated, used inside of networks
})  # fmt: skip

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")

NOT_PUBLIC_WHY: Final = "an address that is not on the public web"
NEVER_WHY: Final = f"a link-local or cloud metadata address, {NEVER_PERMITTED}"


class Host(NamedTuple):
    """A host to connect to: a name without its final dot, or an IP address without brackets."""

    name: str
    refused: FetchReason | None = None
    """The reason for refusing it, unless the operator named it."""
    why: str = ""


def show_host(name: str) -> str:
    """Return a host for a message: of a long one its end, which is the part that is registered.

    >>> show_host("docs.example.com"), len(show_host("obey." * 40 + "example.com"))
    ('docs.example.com', 60)
    """
    return name if len(name) <= _LONGEST_SHOWN else f"…{name[1 - _LONGEST_SHOWN :]}"


@lru_cache(maxsize=1 << 12)
def is_public(address: str) -> bool:
    """Return whether the IP address belongs to the public web, by the IANA registries.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:93.184.215.14")
    (True, False, False)
    """
    try:
        if ":" in address:
            v6 = IPv6Address(address)
            special = any(v6 in network for network in _V6_SPECIAL)
            return v6.scope_id is None and v6 in _V6_GLOBAL and not special
        v4 = IPv4Address(address)
    except AddressValueError:
        return False
    return not any(v4 in network for network in _V4_SPECIAL)


@lru_cache(maxsize=1 << 12)
def is_never_permitted(host: str) -> bool:
    """Return whether no setting permits this name or IP address: link-local, or cloud metadata.

    >>> is_never_permitted("169.254.169.254"), is_never_permitted("64:ff9b::a9fe:a9fe")
    (True, True)
    >>> is_never_permitted("127.0.0.1"), is_never_permitted("metadata.google.internal")
    (False, True)
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower().removesuffix(".") in _NEVER_NAMES
    forms = [address, *_embedded(address)] if isinstance(address, IPv6Address) else [address]
    return any(form in network for form in forms for network in _NEVER)


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that the address may stand for.

    The last four bytes are one in the mapped, compatible, SIIT, NAT64 and ISATAP forms. A network
    may have any prefix for NAT64, so that they count in every address.
    """
    number = int(address)
    places = [number, number >> 80] if address in _V6_SIX_TO_FOUR else [number]
    if address in _V6_TEREDO:
        places += [number >> 64, ~number]
    return [IPv4Address(place & 0xFFFFFFFF) for place in places]


@lru_cache(maxsize=1 << 12)
def check_host(text: str) -> Host:
    """Return the host of a URL, with the reason if it is refused.

    >>> check_host("EXAMPLE.com."), check_host("0x7f.1").refused, check_host("printer").refused
    (Host(name='example.com', refused=None, why=''), 'blocked_host', 'blocked_host')
    """
    if text.startswith("["):
        return _v6_host(text[1:-1])
    if "%" in text:
        text = unquote(text)  # invalid UTF-8 becomes a character that no name contains
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
    why = NEVER_WHY if is_never_permitted(address) else NOT_PUBLIC_WHY
    return Host(address, "blocked_address", why)


def _a_labels(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError:
        return ""  # no valid name

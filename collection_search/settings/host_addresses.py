"""Hosts, ports and proxies that the settings name; a message about a wrong one never repeats it."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Annotated, Final

from pydantic import AfterValidator

from ..text.urls import MAX_PORT
from .provider_access import Address

_HOST: Final = r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w-]{1,63}(?:\.[\w-]{1,63}){0,126}\.?)"
_HOST_PORT: Final = re.compile(rf"{_HOST}:(?P<port>[0-9]{{1,5}})")
_PROXY: Final = re.compile(
    rf"(?i:https?)://(?:[^@/?#\s]*@)?{_HOST}(?::(?P<port>[0-9]{{1,5}}))?(?:/\S*)?"
)


def _require_host_port(text: str) -> str:
    text = text.strip()
    if not _is_host_and_port(_HOST_PORT.fullmatch(text)):
        raise ValueError(
            "give each address as host:port, such as wiki.intra:443, without http:// and login,"
            f" and a port from 1 to {MAX_PORT}"
        )
    return text


def _require_proxy(text: str) -> str:
    if not _is_host_and_port(_PROXY.fullmatch(text)):
        raise ValueError(
            "give an address, as http://user:password@host:3128, with http or https, a port from"
            f" 1 to {MAX_PORT}, and %40 for @, %2F for / and %25 for % in the password"
        )
    return text


def _require_host_name(text: str) -> str:
    """Return the name as a browser sends it: in small letters, as A-labels, without brackets."""
    found = re.fullmatch(_HOST, text) or re.fullmatch(r"(?P<host>[0-9A-Fa-f:.]+)", text)
    name = found["host"].strip("[]").lower() if found else ""
    if not name or (":" in name and not _is_v6(name)):
        raise ValueError(
            "give host names alone, such as search.example, without https://, port and path;"
            " a * stands for no name"
        )
    return name if name.isascii() else name.encode("idna").decode()


def _is_host_and_port(found: re.Match[str] | None) -> bool:
    """Return whether host and port of a match are possible ones."""
    if found is None or not 0 < int(found["port"] or 1) <= MAX_PORT:
        return False
    return not found["host"].startswith("[") or _is_v6(found["host"][1:-1])


def _is_v6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


HostPort = Annotated[str, AfterValidator(_require_host_port)]
"""One address, as `host:port`."""
HostName = Annotated[str, AfterValidator(_require_host_name)]
"""The name of a server in a request's `Host`."""
ProxyAddress = Annotated[Address, AfterValidator(_require_proxy)]
"""The http(s) address of a proxy; no dump shows its password."""

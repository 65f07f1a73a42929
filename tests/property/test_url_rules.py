"""Addresses: nothing that is not the public web gets through, nothing that is gets stuck."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.adapters.crawl.fetch.public_hosts import check_host, is_public
from collection_search.adapters.crawl.fetch.url_rules import UrlRules
from collection_search.errors import FetchError

PRIVATE = [
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4",
        "240.0.0.0/4",
    )
]  # fmt: skip
OURS = [IPv4Network(text) for text in ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24")]
private_v4 = st.sampled_from(PRIVATE).flatmap(
    lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv4Address)
)
any_v4 = st.integers(0, 2**32 - 1).map(IPv4Address)
any_v6 = st.integers(0, 2**128 - 1).map(IPv6Address)
unicast_v6 = st.integers(0x2000 << 112, (0x4000 << 112) - 1).map(IPv6Address)

EMBEDDED = {
    "mapped": lambda v4: IPv6Address((0xFFFF << 32) | v4),
    "compatible": IPv6Address,
    "SIIT": lambda v4: IPv6Address((0xFFFF << 48) | v4),
    "NAT64": lambda v4: IPv6Address((0x64FF9B << 96) | v4),
    "local NAT64": lambda v4: IPv6Address((0x64FF9B0001 << 80) | v4),
    "6to4": lambda v4: IPv6Address((0x2002 << 112) | (v4 << 80) | 1),
    "Teredo server": lambda v4: IPv6Address((0x20010000 << 96) | (v4 << 64)),
    "Teredo client": lambda v4: IPv6Address((0x20010000 << 96) | (v4 ^ 0xFFFFFFFF)),
}


def refused(url: str) -> str:
    with pytest.raises(FetchError) as caught:
        UrlRules().target(url)
    return caught.value.reason


@pytest.mark.slow
@given(private_v4)
def test_private_numbers_in_all_writings(address):
    """Plain, decimal, octal, hexadecimal and full-width: never let through."""
    number = int(address)
    parts = address.packed
    octal = ".".join(f"0{part:o}" for part in parts)
    full_width = "".join(
        chr(0xFF10 + int(char)) if char.isdigit() else char for char in str(address)
    )
    for host in (
        str(address), f"{address}.", str(number), hex(number), oct(number).replace("o", ""), octal,
        ".".join(map(hex, parts)), f"{parts[0]}.{number & 0xFFFFFF}", full_width,
    ):  # fmt: skip
        assert refused(f"http://{host}/") in {"blocked_address", "blocked_host"}
    assert not is_public(str(address))


@pytest.mark.slow
@given(any_v4, st.sampled_from(sorted(EMBEDDED)))
def test_numbers_inside_of_numbers(address, form):
    """IPv4 inside of IPv6 is never let through, in no writing."""
    carrier = EMBEDDED[form](int(address))
    for text in (carrier.compressed, carrier.exploded):
        assert not is_public(text)
        assert refused(f"http://[{text}]/") == "blocked_address"


@pytest.mark.slow
@given(st.one_of(any_v4, any_v6, unicast_v6))
def test_nothing_beyond_the_library(address):
    """What the standard library knows as not global never passes."""
    if not address.is_global or address.is_multicast:
        assert not is_public(str(address))


@pytest.mark.slow
@given(any_v4)
def test_public_numbers_pass(address):
    special = not address.is_global or address.is_multicast
    special |= any(address in network for network in OURS)
    assert is_public(str(address)) is not special


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_typed_refusal(text):
    for url in (text, f"http://{text}", f"https://a.example.com/{text}", f"http://{text}/x"):
        try:
            target = UrlRules().target(url)
        except FetchError as error:
            assert error.retryable is False  # noqa: PT017 - some of them are fine
        else:
            assert target.url.isascii()
            assert UrlRules().target(target.url) == target
            assert check_host(target.host).refused is None or ":" in target.host


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_redirect_is_an_address_or_a_typed_refusal(text):
    source = UrlRules().target("https://www.example.com/a/b?c")
    for location in (
        text,
        f"//{text}",
        f"/{text}",
        text.encode().decode("ascii", "surrogateescape"),
    ):
        try:
            target = UrlRules().redirect(source, location)
        except FetchError:
            continue
        assert UrlRules().target(target.url) == target


@pytest.mark.slow
@given(st.binary(max_size=30))
def test_any_bytes_of_a_host_are_an_address_or_a_typed_refusal(raw):
    """Percent-encoded, and as a header brings them."""
    encoded = "".join(f"%{byte:02x}" for byte in raw)
    source = UrlRules().target("https://www.example.com/")
    for host in (encoded, f"{encoded}.com", f"ä{encoded}.com", f"a.{encoded}"):
        with suppress(FetchError):
            target = UrlRules().target(f"http://{host}/")
            assert check_host(target.host).refused is None
        with suppress(FetchError):
            UrlRules().redirect(source, f"//{host}/")
    with suppress(FetchError):
        UrlRules().redirect(source, f"//{raw.decode('ascii', 'surrogateescape')}.com/")


@given(unicast_v6)
def test_operator_entries_name_one_port_of_one_host(address):
    gate = UrlRules(entries=["127.0.0.1:8123", "wiki.intra:443", "[::1]:80"])
    assert gate.target("http://127.0.0.1:8123/").port == 8123
    assert gate.target("https://wiki.intra/").host == "wiki.intra"
    assert gate.target("http://[::1]/").host == "::1"
    assert gate.may_dial("wiki.intra", 443, "10.0.0.1")
    assert not gate.may_dial("wiki.intra", 80, "10.0.0.1")
    assert not gate.may_dial(str(address), 8123, "127.0.0.1")
    assert gate.may_dial("example.com", 443, str(address)) is is_public(str(address))


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "1.1.1.1", "93.184.215.14", "192.31.196.1", "192.52.193.1", "2606:4700::1111",
     "2a00:1450:4001::200e", "2620:4f:8000::1"],
)  # fmt: skip
def test_well_known_hosts_pass(host):
    shown = f"[{host}]" if ":" in host else host
    assert UrlRules().target(f"https://{shown}/").host == str(ip_address(host))

"""What the flags of the browser take from it, each shown to be needed."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite
from support.scripted_pages import Browsing, Canary, needs_chromium, shell, writing
from support.waiting import wait_until_async

from collection_search.adapters.crawl.browser.browser_memory import arguments_of
from collection_search.adapters.crawl.browser.running_browser import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        yield site


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as canary:
        yield canary


async def test_the_canary_notices_who_comes(canary: Canary) -> None:
    """By TCP and by UDP."""
    _, writer = await asyncio.open_connection("127.0.0.1", canary.port)
    writer.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", canary.port))
    await wait_until_async(lambda: kinds(canary) == {"tcp", "udp"})


@pytest.mark.parametrize(
    ("missing", "kind"),
    [("--proxy-server", "tcp"), ("--proxy-bypass-list", "tcp"), ("webrtc-ip-handling", "udp")],
)
async def test_without_its_flags_the_browser_reaches_the_canary(
    site: LoopbackSite, canary: Canary, missing: str, kind: str
) -> None:
    """Each of them is what stands before it. Names are not looked up here either."""
    script = (
        f"new WebSocket('ws://127.0.0.1:{canary.port}/'); {peer(f'stun:127.0.0.1:{canary.port}')}"
    )
    start = site.put("/", shell(writing("Words about tea.") + script))
    network = [flag for flag in CLOSED if missing not in flag]
    assert len(network) < len(CLOSED)
    async with Browsing(site.allowed, network=network) as browsing:
        await browsing.show(start)
        await wait_until_async(lambda: kind in kinds(canary))
    assert kinds(canary) == {kind}


async def test_no_name_is_looked_up(site: LoopbackSite, tmp_path: Path) -> None:
    """Not by multicast either, where a script gives a peer's address as a name of .local."""
    log = tmp_path / "network.json"
    script = peer("stun:stun.invalid:3478") + "document.head.innerHTML +="
    script += " '<link rel=preconnect href=http://connected.invalid>';"
    start = site.put("/", shell(writing("Words about tea.") + script))
    async with Browsing(site.allowed, network=(*CLOSED, f"--log-net-log={log}")) as browsing:
        assert "<title>connecting</title>" in await browsing.show(start)
    events, kinds = read_network_log(log)
    reached = {
        one["params"]["address"].rpartition(":")[0]
        for one in events
        if kinds[one["type"]] in {"UDP_BYTES_SENT", "TCP_CONNECT_ATTEMPT"}
        and "address" in one.get("params", {})
    }
    assert reached == {"127.0.0.1"}
    asked = {
        one["params"]["host"]
        for one in events
        if "HOST_RESOLVER" in kinds[one["type"]] and "host" in one.get("params", {})
    }
    assert {one.rpartition("/")[2].partition(":")[0] for one in asked} <= {"~notfound", "127.0.0.1"}


async def test_the_drivers_list_of_features_is_part_of_ours(site: LoopbackSite) -> None:
    """Chromium takes the last one only."""
    start = site.put("/", shell(writing("Words about tea.")))
    async with Browsing(site.allowed) as browsing:
        await browsing.show(start)
        running = (await browsing.browsers.get()).running
        assert running is not None
        assert running.process is not None
        name = "--disable-features="
        lists = [one for one in arguments_of(running.process) if one.startswith(name)]
    *theirs, ours = (set(one.removeprefix(name).split(",")) for one in lists)
    assert len(theirs) == 1
    assert theirs[0] - ours == set()


def kinds(canary: Canary) -> set[str]:
    """Return by which protocols somebody came."""
    return {one.split()[0] for one in canary.touched}


def peer(server: str) -> str:
    """Return a script that connects to a peer, by a server and by a name of .local."""
    candidate = (
        "candidate:1 1 udp 2113937151 4f0d2f8a-1111-4222-8333-123456789abc.local 5000 typ host"
    )
    return f"""
        (async () => {{
            const [one, other] = [0, 0].map(() => new RTCPeerConnection({{
                iceServers: [{{urls: '{server}'}}]
            }}));
            one.createDataChannel('x');
            await one.setLocalDescription(await one.createOffer());
            await other.setRemoteDescription(one.localDescription);
            await other.setLocalDescription(await other.createAnswer());
            await one.setRemoteDescription(other.localDescription);
            await one.addIceCandidate({{candidate: '{candidate}', sdpMid: '0', sdpMLineIndex: 0}});
            document.title = 'connecting';
        }})();
    """


def read_network_log(log: Path) -> tuple[list[Any], dict[int, str]]:
    """Return the events of Chromium's log of its network, and the names of their kinds."""
    found = json.loads(log.read_text())
    names = found["constants"]["logEventTypes"]
    return found["events"], {number: name for name, number in names.items()}

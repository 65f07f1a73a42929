"""Pages in a real browser: their texts, and what hostile ones cannot do."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from support.loopback_site import LoopbackSite, essay
from support.scripted_pages import Browsing, Canary, needs_chromium, shell, writing

from collection_search import Settings
from collection_search.adapters.crawl.web import WebPages
from collection_search.contracts.page import NotModified
from collection_search.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs_chromium]
TEXT = essay("tea")
SCRIPT = {"headers": {"Content-Type": "text/javascript"}}


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite(hosts=2) as site:
        yield site


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as canary:
        yield canary


def put_app(site: LoopbackSite) -> str:
    """Return a page whose script fetches its text from another address."""
    data = json.dumps({"text": TEXT.replace("\n", " ")}).encode()
    site.put("/data", data, headers={"Content-Type": "application/json"})
    load = "fetch('/data').then(a => a.json()).then(d => { ROOT.innerHTML = '<p>' + d.text })"
    code = load.replace("ROOT", "document.getElementById('root')")
    site.put("/app.js", code.encode(), **SCRIPT)
    return site.put("/", shell("").replace(b"<script>", b"<script src='/app.js'>"))


def reader(site: LoopbackSite, home: Path, *, browser: bool = True, **more: object) -> WebPages:
    settings = Settings(
        home=home,
        fetch_allowed=site.allowed,
        fetch_delay_s=0,
        extract_processes=1,
        fetch_browser=browser,
        browser_sandbox=False,
        **more,
    )
    return WebPages.from_settings(settings)


async def test_a_text_that_a_script_loads_is_read(site: LoopbackSite, tmp_path: Path) -> None:
    """With the hash of title and text: the page itself never changes, so it has no validators."""
    url = put_app(site)
    pages = reader(site, tmp_path)
    try:
        page = await pages.read(url)
        assert not isinstance(page, NotModified)
        assert "patience is its best friend" in page.text
        assert not page.validators
        again = await pages.read(url, content_hash=page.content_hash)
        assert isinstance(again, NotModified)
        site.put("/data", json.dumps({"text": essay("coffee")}).encode())
        changed = await pages.read(url, content_hash=page.content_hash)
        assert not isinstance(changed, NotModified)
        assert "coffee" in changed.text
    finally:
        await pages.aclose()


async def test_it_is_off_by_default(site: LoopbackSite, tmp_path: Path) -> None:
    """No script is asked for."""
    assert Settings(home=tmp_path).fetch_browser is False
    pages = reader(site, tmp_path, browser=False)
    url = put_app(site)
    with pytest.raises(FetchError) as caught:
        await pages.read(url)
    await pages.aclose()
    assert caught.value.reason == "needs_javascript"
    assert site.asked("/app.js") == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("document.head.innerHTML += '<meta name=robots content=noindex>';", "noindex"),
        ("ROOT.innerHTML = '<h1>Page not found</h1>'; document.title = '404'", "soft_404"),
        ("ROOT.innerHTML = '<h1>Tea</h1><p>Subscribe to continue reading.'", "paywalled"),
        ("", "needs_javascript"),
    ],
)
async def test_the_rules_of_pages_hold_for_what_scripts_write(
    site: LoopbackSite, tmp_path: Path, script: str, reason: str
) -> None:
    """As for any other page."""
    root = "document.getElementById('root')"
    more = writing(TEXT.replace("\n", " ")) if reason == "noindex" else ""
    url = site.put("/", shell(more + script.replace("ROOT", root)))
    pages = reader(site, tmp_path, fetch_noindex=True)
    with pytest.raises(FetchError) as caught:
        await pages.read(url)
    await pages.aclose()
    assert caught.value.reason == reason


async def test_robots_txt_decides_on_page_and_scripts(site: LoopbackSite, tmp_path: Path) -> None:
    """A page that it forbids is not asked for, and neither is a script."""
    url = put_app(site)
    site.put("/robots.txt", b"User-agent: *\nDisallow: /app.js\nDisallow: /private")
    private = site.put("/private", shell(writing("Tea")))
    pages = reader(site, tmp_path)
    reasons = []
    for address in (url, private):
        with pytest.raises(FetchError) as caught:
            await pages.read(address)
        reasons.append(caught.value.reason)
    await pages.aclose()
    assert reasons == ["needs_javascript", "robots_disallowed"]
    assert site.asked("/app.js") == site.asked("/private") == []


HOSTILE = {
    "fetch of metadata": "fetch('http://169.254.169.254/latest/').catch(() => 0);",
    "fetch of loopback": "fetch('http://127.0.0.1:PORT/').catch(() => 0);",
    "fetch by name": "fetch('http://localhost:PORT/').catch(() => 0);",
    "fetch over TLS": "fetch('https://127.0.0.1:PORT/').catch(() => 0);",
    "fetch of a private network": "fetch('http://10.0.0.1/').catch(() => 0);",
    "fetch of a file": "fetch('file:///etc/passwd').catch(() => 0);",
    "post": "fetch('http://127.0.0.1:PORT/', {method: 'POST', body: 'x'}).catch(() => 0);",
    "beacon": "navigator.sendBeacon('http://127.0.0.1:PORT/', 'x');",
    "event source": "new EventSource('http://127.0.0.1:PORT/');",
    "script": "document.write('<script src=\"http://127.0.0.1:PORT/x.js\"><\\/script>');",
    "image": "new Image().src = 'http://127.0.0.1:PORT/x.png';",
    "hints": "document.head.innerHTML += `<link rel=dns-prefetch href='//127.0.0.1:PORT'>"
    "<link rel=preconnect href='http://127.0.0.1:PORT'><link rel=icon href='http://127.0.0.1:PORT/'>"
    "<link rel=prefetch href='http://127.0.0.1:PORT/'><link rel=manifest href='http://127.0.0.1:PORT/'>`;",
    "web socket": "new WebSocket('ws://127.0.0.1:PORT/'); new WebSocket('wss://127.0.0.1:PORT/');",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('http://127.0.0.1:PORT/');"
    "new WebSocket('ws://127.0.0.1:PORT/'); importScripts('http://127.0.0.1:PORT/x.js')`])));",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('http://127.0.0.1:PORT/');"
    "new WebSocket('ws://127.0.0.1:PORT/')`])));",
    "service worker": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js');",
    "speculation": "document.head.insertAdjacentHTML('beforeend', `<script type=speculationrules>"
    '{"prerender": [{"urls": ["http://127.0.0.1:PORT/"]}]}<\\/script>`);',
    "location": "setTimeout(() => { location.href = 'http://127.0.0.1:PORT/' }, 0);",
    "file": "setTimeout(() => { location.href = 'file:///etc/passwd' }, 0);",
    "data": "setTimeout(() => { location.href = 'data:text/html,away' }, 0);",
    "meta refresh": "document.head.innerHTML += '<meta http-equiv=refresh content=\"0;url=http://127.0.0.1:PORT/\">';",
    "form": "document.body.insertAdjacentHTML('beforeend', '<form method=post action=\"http://127.0.0.1:PORT/\"></form>');"
    "document.forms[0].submit();",
    "frame": "document.body.insertAdjacentHTML('beforeend', '<iframe src=\"http://127.0.0.1:PORT/\"></iframe>'"
    " + '<iframe src=\"file:///etc/passwd\"></iframe><object data=\"http://127.0.0.1:PORT/\"></object>');",
    "frame of its own": "document.body.insertAdjacentHTML('beforeend',"
    " `<iframe srcdoc=\"<script>fetch('http://127.0.0.1:PORT/')<\\/script>\"></iframe>`);",
    "window": "window.open('http://127.0.0.1:PORT/'); window.open('about:blank').location = 'http://127.0.0.1:PORT/';",
    "download": "const a = document.createElement('a'); a.href = 'http://127.0.0.1:PORT/'; a.download = 'x'; a.click();",
    "STUN": "const p = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'},"
    "{urls: 'turn:127.0.0.1:PORT?transport=tcp', username: 'a', credential: 'b'}]});"
    "p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o));",
    "web transport": "window.WebTransport && new WebTransport('https://127.0.0.1:PORT/').ready.catch(() => 0);",
    "redirect": "fetch('/away').catch(() => 0);",
    "dialogs": "alert('a'); confirm('b'); prompt('c'); window.print();",
    "questions": "navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission();",
}  # fmt: skip


async def test_hostile_pages_reach_nobody(site: LoopbackSite, canary: Canary) -> None:
    """Their texts are read all the same, and only the site itself is asked."""
    port = str(canary.port)
    there = {"Location": f"http://127.0.0.1:{port}/"}
    site.put("/away", b"", status=302, headers=there)
    worker = f"fetch('http://127.0.0.1:{port}/'); self.oninstall = () => 0"
    site.put("/worker.js", worker.encode(), **SCRIPT)
    late = f"setTimeout(() => {{ {writing('Words about tea.')} }}, 300);"

    async def show(number: int, script: str) -> str:
        code = script.replace("PORT", port)
        return await browsing.show(site.put(f"/{number}", shell(f"{late} {code}")))

    async with Browsing(site.allowed, wait_s=600) as browsing:
        pages = await asyncio.gather(*(show(*one) for one in enumerate(HOSTILE.values())))
        refused = await browsing.refused()
    assert canary.touched == []
    assert {host for host, _, _ in site.requests} == {0}
    unread = [
        name
        for name, page in zip(HOSTILE, pages, strict=True)
        if "<p>Words about tea.</p>" not in page or "root:" in page
    ]
    assert unread == []
    assert any(port in one for one in refused), "the sockets of scripts went elsewhere"
    assert site.asked("/worker.js") == [], "a service worker was asked for"


async def test_what_goes_around_the_safe_fetch_ends_at_the_proxy(
    site: LoopbackSite, canary: Canary
) -> None:
    """Such as a WebSocket."""
    start = site.put("/", shell(f"new WebSocket('ws://127.0.0.1:{canary.port}/');"))
    async with Browsing(site.allowed) as browsing:
        await browsing.show(start)
        refused = await browsing.refused()
    assert f"CONNECT 127.0.0.1:{canary.port}" in refused
    assert canary.touched == []


async def test_a_named_address_is_not_reached_from_another_host(site: LoopbackSite) -> None:
    """As little as by a redirect."""
    secret = site.put("/secret", b"secret", host=1)
    note = "document.title = `read ${t.length}`"
    start = site.put("/", shell(f"fetch('{secret}').then(a => a.text()).then(t => {note})"))
    async with Browsing(site.allowed) as browsing:
        assert "<title>Tea</title>" in await browsing.show(start)
    assert {host for host, _, _ in site.requests} == {0}


@pytest.mark.parametrize(
    "script",
    ["while (true) {}", "const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))"],
)
async def test_a_script_without_end_is_given_up(site: LoopbackSite, script: str) -> None:
    """And the next page is shown."""
    endless = site.put("/endless", shell(script))
    fine = site.put("/fine", shell(writing("Words about tea.")))
    async with Browsing(site.allowed, settle_s=4, total_s=6) as browsing:
        with pytest.raises(FetchError) as caught:
            await browsing.show(endless)
        assert caught.value.reason == "render_failed"
        browsing.limit()  # a busy machine may need longer for a page that is fine
        assert "Words about tea." in await browsing.show(fine)


async def test_a_page_that_never_rests_is_taken_as_it_is(site: LoopbackSite) -> None:
    """When its time is over."""
    growing = "setInterval(() => document.body.append('more '), 10);"
    start = site.put("/", shell(writing("Words about tea.") + growing))
    async with Browsing(site.allowed, settle_s=10, total_s=60) as browsing:
        assert "Words about tea." in await browsing.show(start)


async def test_requests_and_bytes_have_limits(site: LoopbackSite) -> None:
    """Those beyond are refused, and the text is kept."""
    flood = "for (let n = 0; n < 500; n++) fetch('/n' + n).catch(() => 0);"
    start = site.put("/", shell(writing("Words about tea.") + flood))
    for number in "123":
        site.put(f"/large{number}", b"x" * 60_000)
    loads = "fetch('/large1').then(() => fetch('/large2')).catch(() => fetch('/large3'))"
    heavy = site.put("/heavy", shell(writing("Words about tea.") + loads))
    limits = {"max_requests": 20, "max_bytes": 100_000}
    async with Browsing(site.allowed, **limits) as browsing:
        assert "Words about tea." in await browsing.show(start)
        assert len(site.asked()) == 1 + 20
        assert "Words about tea." in await browsing.show(heavy)
    asked = [path for _, path, _ in site.requests if path.startswith("/large")]
    assert asked == ["/large1", "/large2"]


async def test_a_page_that_asks_without_end_is_given_up(site: LoopbackSite) -> None:
    """Refused requests count, and the time for a page is kept.

    The next page may come while the browser is stopped for the first one: then it can be tried
    again.
    """
    post = "fetch('/', {method: 'POST', body: 'x'}).catch(() => 0)"
    flood = f"setInterval(() => {{ for (let n = 0; n < 200; n++) {post} }}, 10);"
    start = site.put("/", shell(writing("Words about tea.") + flood))
    fine = site.put("/fine", shell(writing("Words about tea.")))
    async with Browsing(site.allowed, settle_s=50, total_s=60) as browsing:
        async with asyncio.timeout(60):
            with pytest.raises(FetchError, match="more than 1,000 addresses") as caught:
                await browsing.show(start)
        assert caught.value.reason == "render_failed"
        try:
            shown = await browsing.show(fine)
        except FetchError as error:
            if not error.retryable:
                raise
            shown = await browsing.show(fine)
        assert "Words about tea." in shown


@pytest.mark.parametrize("script", ["document.documentElement.remove()", "document.open()"])
async def test_a_page_that_is_gone_is_no_page_without_end(site: LoopbackSite, script: str) -> None:
    """Its scripts have removed it."""
    start = site.put("/", shell(f"onload = () => {{ {script} }}"))
    async with Browsing(site.allowed, settle_s=10) as browsing:
        with pytest.raises(FetchError) as caught:
            await browsing.show(start)
    assert caught.value.reason == "render_failed"


async def test_a_page_without_end_is_too_large(site: LoopbackSite) -> None:
    """It does not reach this process."""
    start = site.put("/", shell("document.body.append('tea '.repeat(300000));"))
    async with Browsing(site.allowed, max_chars=1_000_000) as browsing:
        with pytest.raises(FetchError) as caught:
            await browsing.show(start)
    assert caught.value.reason == "too_large"


async def test_a_script_cannot_change_how_the_page_is_looked_at(site: LoopbackSite) -> None:
    """It is looked at from another world."""
    lie = "Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'a lie'});"
    start = site.put("/", shell(writing("Words about tea.") + lie))
    async with Browsing(site.allowed) as browsing:
        assert "Words about tea." in await browsing.show(start)

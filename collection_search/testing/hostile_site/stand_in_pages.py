"""Pages that stand in place of a document, and documents that only look like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import page_case, page_cases
from .replies import MARKER, SiteReply, article

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .case import Case, CaseOutcome


def _page(body: str, *, title: str = "", head: str = "") -> bytes:
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    ).encode()


_BUNDLE: Final = '<script src="/static/js/main.4f3c.js"></script>'
_NOSCRIPT: Final = "<noscript>You need to enable JavaScript to run this app.</noscript>"
_ORCHESTRATE: Final = """<script>window._cf_chl_opt = {cType: 'managed'};
document.createElement('script').src = '/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1';
</script>"""
_DETECTIONS: Final = """<script>(function(){window.__CF$cv$params={r:'8f'};
document.createElement('script').src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';})();</script>
"""
_BANNER: Final = """<div id="cookie-banner" class="banner"><p>We use cookies to improve this site.
Read our privacy policy.</p><button>Reject</button><button>Accept all</button></div>"""
_BANNER_IN_GERMAN: Final = """<div class="x9"><div><p>Wir verwenden Cookies, um diese Website zu
verbessern. Mehr dazu in der Datenschutzerklärung.</p><p>Ihre Einwilligung gilt ein Jahr.</p></div>
<div><button>Nur notwendige</button><button>Alle akzeptieren</button></div></div>"""
_ONE_TRUST: Final = f"""<div id="onetrust-consent-sdk"><h2>About your privacy</h2><p>{
    "We and our partners store cookies. " * 40
}</p><button>Accept All Cookies</button></div>"""
_BLOCKED: Final = """<div id="cf-wrapper"><div id="cf-error-details"><h1>Sorry, you have been
blocked</h1><h2>You are unable to access birds.example.org</h2><h2>Why have I been blocked?</h2>
<p>This website is using a security service to protect itself from online attacks. The action you
just performed triggered the security solution. There are several actions that could trigger this
block including submitting a certain word or phrase.</p><p>Cloudflare Ray ID: 8f2c Your IP:
192.0.2.1 Performance &amp; security by Cloudflare</p></div></div>"""
_AKAMAI: Final = """<h1>Access Denied</h1> You don't have permission to access
"http://birds.example.org/herons" on this server.<p>Reference #18.2d351ab8.1557333295.a4e16ab"""

CHALLENGES: Final[Mapping[str, bytes]] = {
    "Cloudflare": _page(
        f"<h1>birds.example.org</h1><h2>Verify you are human by completing the action below.</h2>"
        f"<p>birds.example.org needs to review the security of your connection before proceeding."
        f"</p>{_ORCHESTRATE}",
        title="Just a moment...",
    ),
    "Cloudflare, empty": _page(_ORCHESTRATE, title="Just a moment..."),
    "Cloudflare in German": _page(
        "<h1>birds.example.org</h1><p>Bestätigen Sie, dass Sie ein Mensch sind. Dies kann einige"
        " Sekunden dauern.</p><p>Ray-ID: 8f2c</p>",
        title="Nur einen Moment…",
    ),
    "browser check": _page(
        "<p>Checking your browser before accessing birds.example.org.</p><p>This process is"
        " automatic. Your browser will redirect to your requested content shortly.</p>"
        "<p>DDoS protection by Cloudflare</p>"
    ),
    "Cloudflare block": _page(_BLOCKED, title="Attention Required! | Cloudflare"),
    "Cloudflare, banned": _page(
        "<h1>Error 1020</h1><h2>Access denied</h2><p>You cannot access birds.example.org. Refresh"
        " the page or contact the site owner to request access.</p><p>Ray ID: 8f2c</p>",
        title="Access denied | birds.example.org used Cloudflare to restrict access",
    ),
    "Akamai": _page(_AKAMAI, title="Access Denied"),
    "DataDome": _page(
        "<p id='cmsg'>Please enable JS and disable any ad blocker</p><script>var dd={'host':"
        "'geo.captcha-delivery.com'}</script><script src='https://ct.captcha-delivery.com/c.js'>"
        "</script>",
        title="birds.example.org",
    ),
    "PerimeterX": _page(
        "<div id='px-captcha'></div><h1>Access to this page has been denied.</h1><p>Press &amp;"
        " Hold to confirm you are a human (and not a bot).</p>",
        title="Access to this page has been denied",
    ),
    "Imperva": _page(
        "<iframe src='/_Incapsula_Resource?SWUDNSAI=9&amp;xinfo=1&amp;incident_id=1'>Request"
        " unsuccessful. Incapsula incident ID: 1-2</iframe>"
    ),
    "captcha": _page(
        "<h1>Are you a robot?</h1><p>Please solve the captcha to go on.</p><form><div"
        " class='g-recaptcha'></div></form><script src='https://www.google.com/recaptcha/api.js'>"
        "</script>",
        title="Security check",
    ),
    "Anubis": _page(
        "<h1>Making sure you're not a bot!</h1><p>Loading...</p><p>You are seeing this because the"
        " administrator of this website has set up a guard.</p><script id='anubis_challenge'"
        " type='application/json'>{}</script><script src='/.within.website/x/cmd/anubis/main.mjs'>"
        "</script>"
    ),
    "consent wall": _page(
        "<div class='wall'><h1>Before you continue: your privacy</h1><p>We and our partners use"
        " cookies and process personal data.</p><p>Your consent is voluntary. You can withdraw your"
        " consent at any time.</p><button>Accept all</button> <button>Settings</button></div>"
        "<footer><a href='/imprint'>Imprint</a></footer>",
        title="Birds",
    ),
    "consent wall in German": _page(
        f"{_BANNER_IN_GERMAN}<a href='/i'>Impressum</a>", title="Vögel"
    ),
}
"""Pages that a person or a browser would have to answer first."""

SCRIPTED: Final[Mapping[str, bytes]] = {
    "React app": _page(f"{_NOSCRIPT}<div id='root'></div>{_BUNDLE}", title="Herons"),
    "Angular app": _page(f"<app-root></app-root>{_BUNDLE}", title="Herons"),
    "app between bars": _page(
        "<header><a href='/'>Birds</a></header><div id='app'></div><footer>Imprint</footer>"
        f"{_BUNDLE}"
    ),
    "loading": _page(f"<div class='spinner'>Loading…</div><div id='app'></div>{_BUNDLE}"),
    "a visible notice": _page(
        f"<h1>JavaScript is disabled</h1><p>In order to continue, please enable JavaScript in your"
        f" browser and reload.</p>{_BUNDLE}"
    ),
    "a notice alone": _page("<p>You need to enable JavaScript to run this app.</p>"),
    "a notice in German": _page(
        f"<p>Bitte aktivieren Sie JavaScript, um diese Seite zu nutzen.</p>{_BUNDLE}"
    ),
    "a notice in French": _page(
        f"<p>Veuillez activer JavaScript pour afficher cette page.</p>{_BUNDLE}"
    ),
    "a notice in Japanese": _page(
        f"<p>このページを表示するには、JavaScriptを有効にしてください。</p>{_BUNDLE}"
    ),
    "a notice in Chinese": _page(f"<p>请启用 JavaScript 以继续。</p>{_BUNDLE}"),
    "a notice and links": _page(
        "<nav><a href='/a'>Species</a> <a href='/b'>Places</a> <a href='/c'>Observers and their"
        f" reports</a></nav><p>This site requires JavaScript.</p>{_BUNDLE}"
    ),
}
"""Pages whose text a script would load."""

_DEMO: Final = "<p>Their text is <q>Please enable JavaScript to continue</q> and nothing else.</p>"
DOCUMENTS: Final[Mapping[str, bytes]] = {
    "with a banner": article(more=_BANNER).encode(),
    "with a German banner": article(more=_BANNER_IN_GERMAN).encode(),
    "with a long banner": article(more=_ONE_TRUST).encode(),
    "short, with a banner": _page(f"<p>At dawn {MARKER}.</p>{_BANNER}", title="Herons"),
    "with a noscript notice": article(more=f"{_NOSCRIPT}{_BUNDLE}").encode(),
    "short, with a noscript notice": _page(
        f"<p>At dawn {MARKER}.</p>{_NOSCRIPT}<div id='comments'></div>{_BUNDLE}"
    ),
    "about JavaScript": _page(
        f"<h1>Enable JavaScript in your browser</h1><p>Pages that say: please enable JavaScript,"
        f" need it.</p><p>Open the settings, choose Privacy and security, then Site settings. Under"
        f" Content set the switch to Sites can use it. While you do that, {MARKER}. Reload the page"
        f" afterwards, and the picture of the bird appears again.</p>{_DEMO}{_BUNDLE}",
        title="How to enable JavaScript",
    ),
    "about Cloudflare": _page(
        f"<h1>What Just a moment means</h1><p>Cloudflare shows <q>Checking your browser</q> before"
        f" a page. Verify you are human, it may ask. It compares the browser with known programs."
        f" Meanwhile {MARKER}, and the visitor waits for some seconds until a cookie is set. Sites"
        f" choose how strict the test is, for which countries and paths it runs, and how long a"
        f" passed one counts. The operators of crawlers ask for an exception instead.</p>",
        title="What is the Cloudflare challenge?",
    ),
    "about cookies": _page(
        f"<article><h1>What is a cookie?</h1><p>A cookie is a small text that a browser keeps for a"
        f" site. With cookies a shop remembers the basket. While {MARKER}, the browser sends it"
        f" with every request.</p><p>The law asks for consent before others are set.</p></article>"
        f"{_BANNER}",
        title="Cookies",
    ),
    "on Cloudflare": _page(f"<p>At dawn {MARKER}.</p>{_DETECTIONS}", title="Herons"),
    "a form with a captcha": article(
        more="<form>Your name <input name='n'><div class='g-recaptcha'></div></form>"
    ).encode(),
    "a recipe for cookies": _page(
        f"<div class='cookie-box'><h2>Cookies</h2><p>Mix flour and sugar while {MARKER}. Bake the"
        f" cookies for ten minutes.</p><a href='/print'>Print</a></div>",
        title="Recipe",
    ),
    "rendered app": _page(
        f"<div id='root'><main><p>At dawn {MARKER}.</p></main></div>{_NOSCRIPT}{_BUNDLE}"
    ),
    "a list of links": _page(
        f"<ul><li><a href='/a'>How {MARKER}</a></li></ul>{_NOSCRIPT}{_BUNDLE}", title="Contents"
    ),
    "hidden until a script runs": _page(
        f"<div style='visibility:hidden'><main><p>At dawn {MARKER}.</p></main></div>{_BUNDLE}"
    ),
    "an article hidden until a script runs": _page(
        f"<div style='visibility:hidden'><article><p>At dawn {MARKER}.</p></article></div>{_BUNDLE}"
    ),
    "hidden from screen readers": _page(
        f"<div aria-hidden='true'><p>At dawn {MARKER}.</p></div><div role='dialog'>Join us</div>"
    ),
    "a shadow root": _page(
        f"<x-app><template shadowrootmode='open'><p>At dawn {MARKER}.</p></template></x-app>"
    ),
    "on cookies, with a button": _page(
        f"<article><h1>Was sind Cookies?</h1><p>Cookies sind kleine Dateien. Ein Cookie bleibt,"
        f" while {MARKER}.</p></article><button>OK</button>",
        title="Was sind Cookies?",
    ),
    "a policy for cookies": _page(
        f"<div><h1>Cookie policy</h1><p>Cookies are small files. You may withdraw consent to"
        f" cookies while {MARKER}.</p><a href='/x'>Accept all</a></div>",
        title="Cookie policy",
    ),
    "a glossary's captcha": _page(
        f"<h1>Captcha</h1><p>A test that tells people from programs while {MARKER}.</p>",
        title="Captcha",
    ),
    "steps for JavaScript": _page(
        f"<h1>Enable JavaScript</h1><p>To enable JavaScript in Firefox, open about:config and set"
        f" javascript.enabled to true, while {MARKER}.</p>{_BUNDLE}",
        title="Enable JavaScript",
    ),
}
"""Pages with a text of their own, which holds the marker and no text of a banner."""

UNSEEN: Final = (
    "<p hidden>unseen words</p><p style='color:red; display: none'>unseen words</p>"
    "<div style='visibility:hidden'><b>unseen words</b></div>"
    "<template><p>unseen words</p></template><noscript>unseen words</noscript>"
)
_CODE: Final = f"<p>{MARKER}</p><pre>def wait():\n    if fish:\n        strike()</pre>"


def cases() -> tuple[Case, ...]:
    """Return the cases of pages in place of documents, and of documents that look like them."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    groups: tuple[tuple[str, CaseOutcome, Mapping[str, bytes], str], ...] = (
        ("challenge", "challenge", CHALLENGES, ""),
        ("script", "needs_javascript", SCRIPTED, ""),
        ("document", "read", DOCUMENTS, "privacy"),
    )
    for group, outcome, pages, not_text in groups:
        for name, page in pages.items():
            does = "a page in place of a document" if outcome != "read" else "looks like one"
            reply = SiteReply(page)
            yield page_case(f"{group}: {name}", does, outcome, reply, not_text=not_text)
    for status in (403, 429, 503):
        reply = SiteReply(CHALLENGES["Cloudflare"], status=status)
        yield page_case(f"challenge: {status}", "a challenge as an error", "challenge", reply)
    asked = SiteReply(b"", status=403, headers={"cf-mitigated": "challenge"})
    yield page_case("challenge: header", "the header says it", "challenge", asked)
    denied = SiteReply(CHALLENGES["Akamai"], status=403)
    yield page_case("challenge: denied", "a guard refuses", "challenge", denied)
    long, short = article(more=UNSEEN), f"<html><p>{MARKER}{UNSEEN}"
    does = "text that nobody sees"
    unseen = {"unseen": (does, long.encode()), "unseen, short": (does, short.encode())}
    yield from page_cases("read", unseen, not_text="unseen")
    does = "the indentation of code"
    yield page_case("code", does, "read", SiteReply(_page(_CODE)), text="\n        strike()")

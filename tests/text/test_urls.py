# ruff: noqa: RUF001 - letters in disguise are what is tested
import time

import pytest

from collection_search.errors import InvalidUrlError
from collection_search.text.loose_keys import loose_url_key
from collection_search.text.urls import is_pdf, mask_login, normalize_url, url_key

SITE = "https://example.com"


@pytest.mark.parametrize(
    "name",
    [
        "utm_source", "utm_medium", "utm_x", "utm_", "gclid", "fbclid", "igshid", "msclkid",
        "mc_eid", "vero_conv", "vero_id", "yclid",
    ],
)  # fmt: skip
def test_tracking_parameters_are_removed(name):
    """The prefix utm_ and the eight specified names go, with any value, escaped or not."""
    for parameter in (f"{name}=1", name, f"{name}=", f"%{ord(name[0]):02x}{name[1:]}=1"):
        assert normalize_url(f"{SITE}/page?a=1&{parameter}&b=2") == f"{SITE}/page?a=1&b=2"
        assert normalize_url(f"{SITE}/page?{parameter}") == f"{SITE}/page"


@pytest.mark.parametrize(
    "parameter",
    ["utm=1", "xutm_source=1", "gclid2=1", "my_gclid=1", "UTM_SOURCE=1", "GCLID=1", "x=utm_a"],
)
def test_what_only_looks_like_tracking_stays(parameter):
    """Names are compared exactly, case included."""
    assert normalize_url(f"{SITE}/?{parameter}") == f"{SITE}/?{parameter}"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # the specified rules
        (
            "https://Example.COM/page?utm_source=fb&b=2&a=1#section",
            "https://example.com/page?a=1&b=2",
        ),
        ("HTTPS://example.com/", "https://example.com/"),
        ("https://EXAMPLE.com/Path", "https://example.com/Path"),
        ("https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2"),
        ("https://example.com/#top", "https://example.com/"),
        # the query is raw text: nothing is parsed and written again
        ("https://example.com/?q=a%20b", "https://example.com/?q=a%20b"),
        ("https://example.com/?q=a+b", "https://example.com/?q=a+b"),
        ("https://example.com/?flag", "https://example.com/?flag"),
        ("https://example.com/?flag=", "https://example.com/?flag="),
        ("https://example.com/?a[]=1;b=2", "https://example.com/?a[]=1;b=2"),
        ("https://example.com/?a=b=c&d=?/", "https://example.com/?a=b=c&d=?/"),
        # names are sorted, values are not
        ("https://example.com/?b=1&a=2&a=1", "https://example.com/?a=2&a=1&b=1"),
        ("https://example.com/?a=2&b=0&a=1&a", "https://example.com/?a=2&a=1&a&b=0"),
        # empty parts
        ("https://example.com", "https://example.com/"),
        ("https://example.com?", "https://example.com/"),
        ("https://example.com?a=1", "https://example.com/?a=1"),
        ("https://example.com/?&a=1&&", "https://example.com/?a=1"),
        ("https://example.com/?#", "https://example.com/"),
        ("  https://example.com/  ", "https://example.com/"),
        # ports
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        # dot segments
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com/a/b/.", "https://example.com/a/b/"),
        ("https://example.com/../../a", "https://example.com/a"),
        ("https://example.com/a/%2e%2E/b", "https://example.com/b"),
        ("https://example.com/a//../b", "https://example.com/a/b"),
        ("https://example.com/...", "https://example.com/..."),
        ("https://example.com/.well-known/x", "https://example.com/.well-known/x"),
        # empty segments are segments
        ("https://example.com//a///b", "https://example.com//a///b"),
        # escapes
        ("https://example.com/%7Euser/%2f%3a", "https://example.com/~user/%2F%3A"),
        ("https://example.com/%e4%bd%a0", "https://example.com/%E4%BD%A0"),
        ("https://example.com/%2541", "https://example.com/%2541"),
        ("https://example.com/100%", "https://example.com/100%"),
        ("https://example.com/%%34%31", "https://example.com/%%341"),
        ("https://example.com/%4%31", "https://example.com/%4%31"),
        ("https://example.com/%%3a", "https://example.com/%%3A"),
        ("https://example.com/a b?c d", "https://example.com/a%20b?c%20d"),
        ("https://example.com/Größe?q=ö", "https://example.com/Gr%C3%B6%C3%9Fe?q=%C3%B6"),
        ('https://example.com/<">', "https://example.com/%3C%22%3E"),
        # hosts
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://ｅｘａｍｐｌｅ．com/", "https://example.com/"),
        ("https://XN--BCHER-KVA.example/", "https://xn--bcher-kva.example/"),
        ("https://my_site.-a-.example/", "https://my_site.-a-.example/"),
        ("https://example.com./", "https://example.com./"),
        ("https://localhost/", "https://localhost/"),
        ("https://192.0.2.1:81/", "https://192.0.2.1:81/"),
        ("https://[2001:DB8:0:0::1]:443/", "https://[2001:db8::1]/"),
    ],
)
def test_normal_form(given, expected):
    """Each rule gives its normal form, and the normal form stays as it is."""
    assert normalize_url(given) == expected
    assert normalize_url(expected) == expected


@pytest.mark.parametrize(
    "url",
    [
        # no absolute http(s) URL
        "", " ", "example.com", "/page", "//example.com/", "ftp://example.com/", "mailto:a@b.c",
        "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http:/example.com",
        "http:example.com", "https:///page", "https://", "https://?a", "https://#a", "https://:80/",
        "httpſ://example.com/", "xhttps://example.com/",
        # control characters, wherever they stand
        "https://example.com/\n", "\thttps://example.com/", "https://exam\nple.com/", "ht\ttp://a.b/",
        "https://example.com/a\x00b", "https://example.com/\x7f", "https://example.com/?a\r\nb",
        "https://example.com/#\x1b", "https://example.com/\x85",
        # broken text
        "https://example.com/\ud800", "https://\udfff.com/", "https://example.com/#\udc00",
        # user names and passwords
        "https://user@example.com/", "https://user:pass@example.com/", "https://@example.com/",
        "https://example.com\\@evil.example/", "https://a@b@c/",
        # hosts
        "https://exa mple.com/", "https://example..com/", "https://.example.com/", "https://./",
        "https://ex%61mple.com/", "https://example.com\\path", "https://a,b/", "https://a*b/",
        f"https://{'a' * 64}.com/", f"https://{'a.' * 130}com/", "https://\u200d.com/", "https://ü..de/",
        f"https://{'ü' * 5000}.de/", "https://a／b.com/",
        # IP addresses
        "https://256.1.1.1/", "https://127.1/", "https://2130706433/", "https://0x7f.0.0.1/",
        "https://127.0.0.01/", "https://1.2.3.4.5/", "https://[::1/", "https://::1/", "https://[]/",
        "https://[::g]/", "https://[::1]x/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/",
        "https://[1.2.3.4]/", "https://[" + ":" * 5000 + "]/",
        # ports
        "https://example.com:65536/", "https://example.com:-1/", "https://example.com:8a/",
        "https://example.com:٨٠/", "https://example.com:80:80/", f"https://example.com:{'9' * 5000}/",
    ],
)  # fmt: skip
def test_everything_else_is_refused(url):
    """One typed error tells what is wrong; no other error is raised."""
    for function in (normalize_url, url_key):
        with pytest.raises(InvalidUrlError):
            function(url)


def test_a_refused_password_is_not_repeated():
    """The message names the problem, not the secret."""
    with pytest.raises(InvalidUrlError, match="user name or password") as caught:
        normalize_url("https://me:hunter2@example.com/")
    assert "hunter2" not in str(caught.value)


SAME_PAGE = [
    ("https://example.com", "https://example.com/"),
    ("https://WWW.Example.com", "https://www.example.com/"),
    ("https://www.example.com.:8080/", "https://www.example.com:8080/"),
    ("https://example.com/a#section", "https://example.com/a"),
    ("https://example.com/a#:~:text=found%20here", "https://example.com/a"),
    ("https://example.com/#/", "https://example.com/"),
    ("https://example.com/#!", "https://example.com/"),
    ("https://example.com/#!/", "https://example.com/"),
    ("https://example.com/#/a:~:text=b", "https://example.com/#/a"),
    ("https://example.com/#/%c3%a4", "https://example.com/#/ä"),
    ("https://example.com/%c3%a4", "https://example.com/ä"),
    ("https://example.com/%7Eme", "https://example.com/~me"),
    ("https://example.com/a?q=x+y", "https://example.com/a?q=x%20y"),
    ("https://example.com/a?b=2&a=1", "https://example.com/a?a=1&b=2"),
    ("https://example.com/a?UTM_Source=x&b=1", "https://example.com/a?b=1"),
    ("https://example.com/a?gclid=1&srsltid=2&_gl=3&mc_cid=4", "https://example.com/a"),
    ("https://example.com/a;jsessionid=1A2B?b=1", "https://example.com/a?b=1"),
    ("https://example.com/a?PHPSESSID=1A2B", "https://example.com/a"),
    ("https://en.m.wikipedia.org/wiki/Queue", "https://en.wikipedia.org/wiki/Queue"),
    ("https://bücher.example/", "https://xn--bcher-kva.example"),
    ("https://[2001:db8::1]:443/", "https://[2001:DB8::1]"),
]

LIKELY_THE_SAME = [
    ("http://example.com/a", "https://example.com/a"),
    ("https://www.example.com/a", "https://example.com/a"),
    ("https://WWW.Example.com", "http://example.com/"),
    ("https://www.example.com.:8080/", "https://example.com:8080/"),
    ("https://example.com/docs/", "https://example.com/docs"),
    ("https://example.com/docs/?a=1", "https://example.com/docs?a=1"),
    ("https://example.com/docs/index.html", "https://example.com/docs/"),
    ("https://example.com/Default.aspx", "https://example.com/"),
    ("https://example.com/index.php?id=5", "https://example.com/?id=5"),
    ("https://bücher.example/", "http://xn--bcher-kva.example"),
    ("https://[2001:db8::1]:443/", "http://[2001:DB8::1]"),
]
"""One page on most sites; on some they differ, so that only text or canonical link can tell."""

DIFFERENT_PAGES = [
    ("https://example.com/a", "https://example.com/b"),
    ("https://example.com/A", "https://example.com/a"),
    ("https://example.com/?q=A", "https://example.com/?q=a"),
    ("https://example.com/?id=1", "https://example.com/?id=2"),
    ("https://example.com/?id=1", "https://example.com/"),
    ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
    ("https://example.com/?a=", "https://example.com/"),
    ("https://example.com/?ref=main", "https://example.com/?ref=dev"),
    ("https://example.com/?source=a", "https://example.com/?source=b"),
    ("https://example.com/?utm=a", "https://example.com/?utm=b"),
    ("https://example.com/#!/inbox", "https://example.com/#!/sent"),
    ("https://example.com/#/inbox", "https://example.com/"),
    ("https://example.com/#/inbox", "https://example.com/inbox"),
    ("https://example.com/#!a", "https://example.com/#/a"),
    ("https://example.com/#!/inbox/", "https://example.com/#!/inbox"),
    ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ("https://example.com/a%3Fb", "https://example.com/a?b"),
    ("https://example.com/?a=1%262", "https://example.com/?a=1&2"),
    ("https://example.com/?a=1%2B2", "https://example.com/?a=1+2"),
    ("https://example.com/a+b", "https://example.com/a%20b"),
    ("https://example.com/%2541", "https://example.com/A"),
    ("https://example.com/%%34%31", "https://example.com/A"),
    ("https://example.com/a//b", "https://example.com/a/b"),
    ("https://example.com/index.html", "https://example.com/genindex.html"),
    ("https://example.com/index.html", "https://example.com/index.de.html"),
    ("https://example.com/index", "https://example.com/"),
    ("https://example.com/index.html/a", "https://example.com/a"),
    ("https://example.com/a;v=1", "https://example.com/a;v=2"),
    ("https://example.com/a.pdf", "https://example.com/a"),
    ("https://docs.example.com/", "https://example.com/"),
    ("https://m.example.com/", "https://example.com/"),
    ("https://www.com/", "https://com/"),
    ("https://www2.example.com/", "https://example.com/"),
    ("https://www.www.example.com/", "https://example.com/"),
    ("https://en.wikipedia.org/", "https://de.wikipedia.org/"),
    ("https://example.com:8080/", "https://example.com/"),
    ("https://example.com/", "https://example.org/"),
]


@pytest.mark.parametrize(("one", "other"), SAME_PAGE)
def test_same_page_has_one_key(one, other):
    """Two addresses of one page are found as duplicates."""
    assert url_key(one) == url_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT_PAGES + LIKELY_THE_SAME)
def test_different_pages_have_different_keys(one, other):
    """Pages are never merged by their address, not even two that are likely one."""
    assert url_key(one) != url_key(other)


@pytest.mark.parametrize(
    ("url", "content_type", "expected"),
    [
        # by the extension of the path
        ("https://example.com/a.pdf", None, True),
        ("https://example.com/A.PDF?x=1#page=2", None, True),
        ("https://example.com/a.pdf/view", None, False),
        ("https://example.com/a?file=b.pdf", None, False),
        ("https://example.com/a#b.pdf", None, False),
        ("https://example.pdf", None, False),
        ("https://example.com/pdf", None, False),
        # by the content type
        ("https://example.com/a", "application/pdf", True),
        ("https://example.com/a", "Application/X-PDF; charset=binary", True),
        ("https://example.com/a", "text/html", False),
        ("https://example.com/a.pdf", "text/html", True),
        ("https://example.com/a", "", False),
        # and never an error
        ("", None, False),
        ("https://[", None, False),
        ("\ud800.pdf", None, False),
    ],
)
def test_pdf_is_recognised(url, content_type, expected):
    """The extension of the path or the content type tells a PDF."""
    assert is_pdf(url, content_type) is expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "/",
        "/..",
        "/a/..",
        "%",
        "%4",
        "%41",
        "ä",
        "?&",
        "?a&",
        "#!/",
        ";jsessionid=",
        "a.",
        "@",
        ":0",
    ],
)
def test_time_is_linear(part):
    """A hostile URL of 400 kB takes a moment, not minutes."""
    hostile = f"https://example.com/{part * (400_000 // len(part))}"
    begin = time.process_time()
    for url in (hostile, hostile.replace(".com/", ".com", 1)):
        try:
            loose_url_key(url)
        except InvalidUrlError:
            continue
    assert time.process_time() - begin < 15


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://ann:pa@ss:w@host/a", "https://ann:***@host/a"),
        ("https://token@host", "https://***@host"),
        ("ann:secret@proxy:8080", "ann:***@proxy:8080"),
        ("socks5h://:secret@proxy", "socks5h://:***@proxy"),
        ("https://host/@ann:b@c?x=a:b@c", "https://host/@ann:b@c?x=a:b@c"),
        ("https://host:8080/v1", "https://host:8080/v1"),
        ("proxy:8080", "proxy:8080"),
        ("", ""),
    ],
)
def test_a_login_in_an_address_is_masked(address: str, shown: str) -> None:
    assert mask_login(address) == shown

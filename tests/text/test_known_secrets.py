"""A known secret is taken out of a text in every form in which it may come back."""

from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.text.known_secrets import KnownSecrets

KEY = 'walled/garden+of "roses" & thörns\\7'
FORMS = {
    "plain": KEY,
    "quoted": quote(KEY, safe=""),
    "quoted, lower case": quote(KEY, safe="").replace("%2F", "%2f").replace("%C3%B6", "%c3%b6"),
    "quoted in part": quote(KEY),
    "quoted for a form": quote_plus(KEY),
    "quoted twice": quote(quote(KEY, safe=""), safe=""),
    "JSON": json.dumps(KEY)[1:-1],
    "JSON with slashes escaped": json.dumps(KEY)[1:-1].replace("/", r"\/"),
    "JSON in JSON": json.dumps(json.dumps(KEY))[3:-3],
    "JSON, not ASCII": json.dumps(KEY, ensure_ascii=False)[1:-1],
    "HTML": html.escape(KEY),
    "HTML by number": "".join(c if c.isalnum() else f"&#{ord(c)};" for c in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "basic authentication": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "basic, quoted": quote(base64.b64encode(f"me:{KEY}".encode()), safe=""),
    "base64 for addresses": base64.urlsafe_b64encode(f"u:{KEY}!".encode()).decode(),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal, upper case": KEY.encode().hex().upper(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_taken_out(form):
    """What is left of it is at most what belongs to the text around it."""
    text = f'{{"said": "<{FORMS[form]}>"}}'
    redacted = KnownSecrets(["other-secret", KEY]).redact(text)
    assert "[secret]" in redacted
    assert len(redacted) <= len('{"said": "<[secret]>"}') + len("dXNlcjp")
    assert KnownSecrets([KEY]).redact_bytes(text.encode()).decode() == redacted


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(min_size=8), st.binary(max_size=5), st.binary(max_size=5))
def test_base64_of_any_secret_at_any_place(secret, before, after):
    """Whatever stands around it in what was encoded."""
    content = secret.encode(errors="replace")
    encoded = base64.b64encode(before + content + after).decode()
    assert "[secret]" in KnownSecrets([secret]).redact(encoded)


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(min_size=4))
def test_bytes_are_read_as_texts_are(secret):
    """The quick look for a sign passes over no secret."""
    for form in (secret, quote(secret.encode(errors="replace"), safe=""), json.dumps(secret)):
        body = f"before {form} after".encode(errors="surrogatepass")
        if secret.isprintable():
            assert b"[secret]" in KnownSecrets([secret]).redact_bytes(body)


def test_what_is_short_or_absent_leaves_the_text_alone():
    """A blank key stands everywhere, one of three characters in many a word."""
    assert KnownSecrets(["", "abc"]).redact("abc and more") == "abc and more"
    assert KnownSecrets(["abcdefg"], shortest=8).redact_bytes(b"abcdefg") == b"abcdefg"
    assert KnownSecrets([]).redact_bytes(b"\xff\xfe") == b"\xff\xfe"


def test_the_longer_of_two_secrets_goes_as_a_whole():
    """A secret that begins like another one leaves no end behind."""
    assert KnownSecrets(["open", "open-sesame"]).redact("open-sesame open") == "[secret] [secret]"


@pytest.mark.slow
def test_no_text_makes_it_slow():
    """Runs of what may stand before a character are looked at once."""
    secrets = KnownSecrets(["//open%%sesame&&", KEY])
    started = time.process_time()
    for text in ("\\" * 100_000, "%25" * 40_000, "&#000" * 20_000, "&#x0" * 20_000, "/" * 100_000):
        assert secrets.redact(text) == text
    assert time.process_time() - started < 5

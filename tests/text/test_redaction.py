import time

import pytest

from collection_search.text.redaction import mask, mask_text, redact, redact_error, redact_query

SECRETS = {
    "OpenAI": "sk-proj-abcDEF123456_xyz",
    "OpenAI, older": "sk-abcdEFGH1234567890ijkl",
    "Anthropic": "sk-ant-api03-AAAAbbbbCCCC-dddd",
    "Langfuse": "sk-lf-123e4567-e89b-12d3-a456-426614174000",
    "Tavily": "tvly-dev-abcdef123456",
    "Brave": "BSAabcdefghijklmnopqrst123",
    "Google": "AIzaSyA1234567890abcdefghijklmnopqrstuvw",
    "GitHub": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "Slack": "xoxb-123456789012-abcdefghijkl",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "Hugging Face": "hf_abcdefghijklmnop1234",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "Telegram": "123456789:AAabcdefghijklmnopqrstuvwxyz012345",
    "hexadecimal": "0123456789abcdef0123456789abcdef01234567",
    "base64": "q7Jf0Zx2Kp9/LmW3tR8vYb1+Nc5HdS6gUa4QeTiXwo0=",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
}

PERSONAL = {
    "jane.doe+tag@sub.example.co.uk": "[email]",
    "jane%40example.com": "[email]",
    "müller@exämple.de": "[email]",
    "+49 30 1234567": "[phone]",
    "+1 (555) 123-4567": "[phone]",
    "0049 30 1234567": "[phone]",
    "(030) 123 456 78": "[phone]",
    "0151-23456789": "[phone]",
    "555-123-4567": "[phone]",
    "DE89 3704 0044 0532 0130 00": "[iban]",
    "de89370400440532013000": "[iban]",
    "GB29 NWBK 6016 1331 9268 19": "[iban]",
    "4111 1111 1111 1111": "[card]",
    "5555-5555-5555-4444": "[card]",
    "3782 822463 10005": "[card]",
    "6011000990139424": "[card]",
}

NAMED = {
    "Authorization: Bearer abc.def-ghi": "Authorization: [secret]",
    "Authorization: Basic dXNlcjpwYXNz": "Authorization: [secret]",
    "got Bearer 0123456789abcdef back": "got Bearer [secret] back",
    "got Basic dXNlcjpwYXNz back": "got Basic [secret] back",
    '{"api_key": "abc", "n": 1}': '{"api_key": "[secret]", "n": 1}',
    r"{\"api_key\": \"abc\", \"n\": 1}": r"{\"api_key\": \"[secret]\", \"n\": 1}",
    "accessToken=abc clientSecret: 'x'": "accessToken=[secret] clientSecret: '[secret]'",
    "my password: hunter2": "my password: [secret]",
    "Kennwort: Winter25!": "Kennwort: [secret]",
    "API-Schlüssel: abcdef12": "API-Schlüssel: [secret]",
    "Zugangsschluessel=abc": "Zugangsschluessel=[secret]",
    "Zugriffscode: abc-123": "Zugriffscode: [secret]",
    "my api key: abcdef12": "my api key: [secret]",
    "API keys: abcdef12": "API keys: [secret]",
    "der Wert des API-Schlüssels: abcdef12": "der Wert des API-Schlüssels: [secret]",
    "API\u2011Schlüssel: abcdef12": "API\u2011Schlüssel: [secret]",
    "https://a.com/s?q=a&key=AIza&cx=12": "https://a.com/s?q=a&key=[secret]&cx=12",
    "https://a.com/?X-Amz-Signature=ab&y=1": "https://a.com/?X-Amz-Signature=[secret]&y=1",
    "https://user:pass@a.com/x": "https://[secret]@a.com/x",
}

ORDINARY = [
    "How do I cancel an asyncio task after a timeout?",
    "https://docs.python.org/3/library/asyncio-task.html#asyncio.timeout",
    "https://github.com/python/cpython/commit/0123456789abcdef0123456789abcdef01234567",
    "https://docs.google.com/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    "https://medium.com/@user/title-of-2024-post",
    "sorted(data, key=lambda x: x[1]) or max(d, key=d.get)",
    "basic authentication, Basic JavaScript, bearer token explained",
    "API key: 5 ways to rotate; token: a part of a word; password hashing",
    "123e4567-e89b-12d3-a456-426614174000",
    "API code: ERR12345, api_code=4042221",
    "call-0123456789abcdef0123456789abcdef",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "2024-01-15T10:00:00+00:00, 01/02/2024, 01-02-2024, 10:00 +0100",
    "192.168.100.200:8080, Python 3.11.7, 1 000 000, 978-3-16-148410-0, 10.1000/182",
    "gpt-4o-mini-2024-07-18, react@18.2.0, sk-learn for beginners, CVE-2024-12345678",
    "collection_search/adapters/tracing/Langfuse3Sink/SomethingElse",
    "how-do-i-cancel-an-asyncio-task-after-a-timeout-in-python-3-11",
    "DE11 2222 3333 4444 5555 66 fails its checksum",
    "4111 1111 1111 1112 and 4111-1111-1111-1110 fail theirs",
    "1763851200000 ms, 9780306406157, https://a.com/4111111111111111/x",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("frame", ["{}", "refused: {}.", "({})", '"{}"', "a={}"])
def test_keys_and_tokens_are_masked_wherever_they_stand(secret, frame):
    """The key is gone, what surrounds it stays."""
    assert mask_text(frame.format(secret)) == frame.format("[secret]")


@pytest.mark.parametrize(("text", "marker"), PERSONAL.items())
def test_personal_data_is_masked_in_a_sentence(text, marker):
    """A marker says what kind of thing was taken out."""
    assert mask_text(f"who is {text}, please?") == f"who is {marker}, please?"


@pytest.mark.parametrize(("text", "masked"), NAMED.items())
def test_what_a_name_calls_secret_is_masked(text, masked):
    """Names, schemes and query parameters give a secret away that has no form of its own."""
    assert mask_text(text) == masked


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text):
    """Questions, addresses, ids, short hashes, dates and versions pass."""
    assert mask_text(text) == text


def test_two_ibans_side_by_side_are_both_masked():
    """The end of one number does not swallow the start of the next."""
    iban = "AT61 1904 3002 3457 3201"
    assert mask_text(f"{iban} {iban}") == "[iban] [iban]"


def test_a_card_beside_other_numbers_is_masked_alone():
    """Its date and check value stay; two cards become two markers."""
    card = "4111 1111 1111 1111"
    assert mask_text(f"12 {card} 123 or {card} {card}") == "12 [card] 123 or [card] [card]"


def test_without_the_personal_rules_only_secrets_go():
    """For what keeps a person's own words in full."""
    text = "jane@example.com, 4111 1111 1111 1111, +49 30 1234567, api_key=abc"
    kept = "jane@example.com, 4111 1111 1111 1111, +49 30 1234567, api_key=[secret]"
    assert mask_text(text, personal=False) == kept
    assert mask({"q": [text], "token": "x"}, personal=False) == {"q": [kept], "token": "[secret]"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a", "a-", "a.", "a@", "+1", "0 ", "(0", "://", "?key=", "sk-", "eyJ", "token:", "token=",
     "authorization:", '\\"token\\": \\"', "bearer ", "DE89 ", "A1b", "22 ", "4-", "-----BEGIN PRIVATE KEY-----"],
)  # fmt: skip
def test_no_text_makes_masking_slow(unit):
    """A hundred thousand characters of any kind take well under a second."""
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    mask_text(text)
    assert time.process_time() - started < 10


@pytest.mark.slow
def test_what_is_told_of_an_error_is_short_and_sound():
    """Megabytes take no time, half a character costs no run, a secret at the cut stays one."""
    started = time.process_time()
    text = redact("a1 b2 key=sk " * 1_000_000)
    assert time.process_time() - started < 5
    assert len(text) == 500
    assert len(str(redact_error(ValueError("a1 b2 key=sk " * 1_000_000)))) < 200_000
    assert time.process_time() - started < 10
    assert redact("half \ud83d") == "half ?"
    assert "hunter2" not in redact("x" * 490 + " password=hunter2hunter2")


def test_mask_reaches_every_string_and_keeps_everything_else():
    """Lists, dictionaries and numbers keep their shape, and the original is not touched."""
    value = {"to": ["jane@example.com", {"note": "call +49 30 1234567"}], "n": 3, "ok": None}
    assert mask(value) == {"to": ["[email]", {"note": "call [phone]"}], "n": 3, "ok": None}
    assert value["to"][0] == "jane@example.com"


def test_mask_takes_out_whatever_stands_under_a_secret_name():
    """A password has no form: its name is what gives it away."""
    value = {"X-Api-Key": "abc", "client_secret": "x", "password": "", "input_tokens": 12}
    assert mask(value) == {
        "X-Api-Key": "[secret]", "client_secret": "[secret]", "password": "", "input_tokens": 12,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("full", "mail jane@example.com"),
        ("masked", "mail [email]"),
        ("hash", "sha256:1956d51fd7c288ba"),
        ("none", None),
    ],
)
def test_captured_query_shows_what_the_setting_allows(mode, shown):
    """The four values of the setting `capture_query`."""
    assert redact_query("mail jane@example.com", mode) == shown

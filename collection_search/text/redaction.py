"""Redaction of secrets and personal data in texts that are logged or traced.

Markers such as `[email]` replace them. It finds recognisable forms only: a name or a password in a
sentence passes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import traceback
from collections.abc import Callable, Mapping
from itertools import pairwise
from string import hexdigits
from typing import Any, Final, Literal, TypeAlias

from .card_numbers import CARD_FORM, mask_cards
from .clean import to_unicode

CaptureMode = Literal["full", "masked", "hash", "none"]
_Rule: TypeAlias = tuple[re.Pattern[str], re.Pattern[str], str | Callable[[re.Match[str]], str]]

SECRET: Final = "[secret]"  # noqa: S105 - the marker, no password
EMAIL: Final = "[email]"
PHONE: Final = "[phone]"
IBAN: Final = "[iban]"

_SHORTEST: Final = len("a@b.co")
_TRACEBACK_CHARS: Final = 100_000
_LONG_HEX: Final = 40
"""Fewest characters of a hexadecimal secret; shorter words are ids and checksums."""
_RANDOM_CHANGES: Final = 0.42
"""Share of neighbours of another class: about 0.65 in random base64, 0.3 in names and paths."""


def mask_text(text: str, *, personal: bool = True) -> str:
    """Return the text without keys, tokens and passwords, nor the data of persons and payment.

    Those are e-mail addresses, phone, card and bank account numbers; they stay where `personal`
    is False. Takes time in proportion to the length of the text; masking twice changes nothing.

    >>> mask_text("why does ?api_key=abc fail for jane@example.com with 4111 1111 1111 1111")
    'why does ?api_key=[secret] fail for [email] with [card]'
    >>> mask_text("why does ?api_key=abc fail for jane@example.com", personal=False)
    'why does ?api_key=[secret] fail for jane@example.com'
    """
    if len(text) < _SHORTEST:
        return text
    rules = _RULES if personal else _SECRET_RULES
    while (masked := _masked_once(text, rules)) != text:  # a marker may complete another pattern
        text = masked
    return text


def redact(text: str, *, most: int = 500) -> str:
    """Return an error's text for display: masked, cut, and valid in any JSON.

    >>> redact("api_key=abc is refused" + chr(0xD800)), redact("too long a story", most=8)
    ('api_key=[secret] is refused?', 'too long')
    """
    # cut twice: masking a whole page takes time, and the first cut may split a secret
    return mask_text(to_unicode(text[: 4 * most]))[:most]


def error_message(error: BaseException) -> str:
    """Return the redacted message of the error, or its class when it has none.

    >>> error_message(ValueError("no such page")), error_message(TimeoutError())
    ('no such page', 'TimeoutError')
    """
    return redact(str(error)) or type(error).__name__


def redact_error(error: BaseException) -> BaseException:
    """Return the error, or its masked traceback as an error when it contains a secret.

    A very long traceback is cut in the same way.

    >>> (redact_error(ValueError("no such page")),
    ...  str(redact_error(ValueError("api_key=abc"))).strip())
    (ValueError('no such page'), 'ValueError: api_key=[secret]')
    """
    text = "".join(traceback.format_exception(error))
    shown = redact(text, most=_TRACEBACK_CHARS)
    return error if shown == text else RuntimeError(shown)


def mask(value: Any, *, personal: bool = True) -> Any:
    """Return a copy of a JSON-plain value with every string masked, at any depth.

    The value of a name that means a secret is replaced as a whole; names stay. Personal data stays
    where `personal` is False.

    >>> mask({"user": ["jane@example.com"], "api_key": "abc", "count": 3})
    {'user': ['[email]'], 'api_key': '[secret]', 'count': 3}
    """
    if isinstance(value, str):
        return mask_text(value, personal=personal)
    if isinstance(value, Mapping):
        return {
            name: SECRET
            if inner and isinstance(inner, str) and is_secret_name(str(name))
            else mask(inner, personal=personal)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask(inner, personal=personal) for inner in value]
    return value


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name holds a secret.

    >>> is_secret_name("tavily_api_key"), is_secret_name("keyword")
    (True, False)
    """
    return _SECRET_NAME.fullmatch(name) is not None


def redact_query(text: str, mode: CaptureMode) -> str | None:
    """Return a question for logs and spans; equal questions have equal hashes.

    >>> redact_query("mail jane@example.com", "masked")
    'mail [email]'
    >>> redact_query("mail jane@example.com", "hash")
    'sha256:1956d51fd7c288ba'
    """
    match mode:
        case "full":
            return text
        case "masked":
            return mask_text(text)
        case "hash":
            return "sha256:" + hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
        case "none":
            return None


def _masked_once(text: str, rules: list[_Rule]) -> str:
    for sign, pattern, replacement in rules:
        if sign.search(text):
            text = pattern.sub(replacement, text)
    return text


def _masked_basic(match: re.Match[str]) -> str:
    """Redact base64 of `user:password`; most words after "basic" are something else."""
    try:
        credentials = base64.b64decode(match[2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return match[0]
    return match[1] + SECRET if ":" in credentials else match[0]


def _masked_cards(match: re.Match[str]) -> str:
    return mask_cards(match[0])


def _masked_iban(match: re.Match[str]) -> str:
    """Redact a valid IBAN: ISO 13616 demands 1 modulo 97 of the rearranged number."""
    iban = re.sub(r"\s", "", match[0])
    number = int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4]))
    return IBAN if number % 97 == 1 else match[0]


def _masked_word(match: re.Match[str]) -> str:
    word = match["word"]
    is_long_hex = word and len(word) >= _LONG_HEX and set(word) <= set(hexdigits)
    return SECRET if word and (is_long_hex or _is_random(word)) else match[0]


def _is_random(word: str) -> bool:
    """Return whether the characters look random: their classes change often."""
    if word.islower() or word.isupper():
        return False
    classes = [_char_class(char) for char in word]
    changes = sum(left != right for left, right in pairwise(classes))
    return {"lower", "upper", "digit"} <= set(classes) and changes >= _RANDOM_CHANGES * len(word)


def _char_class(char: str) -> str:
    if char.isalpha():
        return "upper" if char.isupper() else "lower"
    return "digit" if char.isdigit() else "sign"


# Countries of the SWIFT registry by the length of their IBAN.
_IBAN_COUNTRIES: Final = {
    15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK", 21: "CH CR HR LI LV", 22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST",
    26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}  # fmt: skip
_IBAN_FORMS: Final = "|".join(
    rf"(?:{countries.replace(' ', '|')})\d\d(?:[ \xa0]?[A-Z0-9]){{{length - 4}}}"
    for length, countries in _IBAN_COUNTRIES.items()
)

_PEM: Final = r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END[A-Z ]*-----|\Z)"
_VENDOR_KEYS: Final = r"""(?x) (?<![\w-]) (?:
    sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}  # Anthropic, OpenAI, OpenRouter, Langfuse
  | (?:tvly|pplx|nvapi)-[\w-]{8,}                  # Tavily, Perplexity, NVIDIA
  | (?:gh[opsru]_|github_pat_|glpat-)[\w-]{8,}     # GitHub, GitLab
  | (?:xapp|xox[abeoprs])-[\w-]{8,}                # Slack
  | T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/\w{20,}            # Slack's addresses to post to
  | (?:[srw]k_(?:live|test)|whsec)_\w{8,}          # Stripe
  | (?:gsk|lsv2_[ps]t|pcsk|lin_api|dop_v1)_\w{8,}  # Groq, LangSmith, Pinecone, Linear, DigitalOcean
  | (?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)                # AWS
  | (?:SG|ya29|hvs)\.[\w.-]{20,}                   # SendGrid, Google, Vault
  | eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?          # JSON Web Token
  | \d{8,10}:AA[\w-]{30,}                          # Telegram
  | (?=[\w-]*\d) (?:                               # ambiguous: with a digit only
        (?:sk|xai|fc|pa)-[\w-]{16,}                # OpenAI and others, xAI, Firecrawl, Voyage
      | (?:hf|npm|r8|jina|fw|ntn|sbp)_\w{16,}      # Hugging Face, npm, Replicate, Jina, Fireworks
      | (?:AIza|BSA|pypi-Ag)[\w-]{20,}             # Google, Brave, PyPI
    )
)"""

_NAME: Final = (
    r"(?=[ackpstz])(?:(?:api|access|secret|private|subscription|account|auth)[ _\u2011-]?keys?"
    r"|secret|token|passwor[dt]|passwd|passphrase|pwd|credentials?|signature|authorization|kennwort"
    r"|(?:api|zugangs|zugriffs)[ _\u2011-]?schl(?:ü|u\u0308|ue)ssels?"
    r"|(?:zugangs|zugriffs)[ _\u2011-]?code)"
)
_SECRET_NAME: Final = re.compile(rf"(?i)[\w \u2011-]*{_NAME}")
_PLAIN: Final = r"[^\s\"'&,;<>]"
_NAMED: Final = rf"""(?xi) ({_NAME}
    (?: =
      | (?: [\\"']{{0,2}} \s{{0,3}} [:=] \s{{0,3}} )
        (?: \\?(?P<quote>["'])
          | (?!https?:)
          (?=(?:bearer|basic|digest|token)\s | (?={_PLAIN}{{0,200}}\d){_PLAIN}{{6}})
        )
    ))
    (?(quote) [^"'\\\n]+ | (?:(?:bearer|basic|digest|token)\s)? {_PLAIN}+ )"""

_EMAIL: Final = r"[\w.+-]{1,64}(?:@|%40)(?:[^\W_][\w-]{0,62}\.){1,8}[^\W\d_]{2,24}(?![\w-])"
_PHONE: Final = r"""(?x) (?<![\w+.:/-]) (?=[+(\d]) (?:
    \+[1-9] (?:[ ().\-/]{0,2}\d){7,14}                           # +49 30 123456
  | 00[1-9]\d{0,2} [ ()\-/]{1,3} \d (?:[ ()\-/]{0,2}\d){5,11}   # 0049 30 123456
  | \(?0\d{2,4}\)? [ \-/]{1,3} \d (?:[ \-/]{0,3}\d){4,9}       # (030) 123456, 0151-12345678
  | (?:\(\d{3}\)[ ]? | \d{3}[\-. ]) \d{3} [\-. ] \d{4}         # (555) 123-4567
) (?![\w-])"""
_LONG_WORD: Final = (  # what is part of an address passes
    r"https?://[^\s?#]*|(?<![\w/+.@:#-])(?P<word>[A-Za-z0-9+/_-]{32,}={0,2})"
)

# A rule applies only if a text has the first column, which is a fast check. No repetition is next
# to one with the same characters, and every lookahead is bounded: no text makes a pattern slow.
_SECRET_RULES: Final[list[_Rule]] = [
    (re.compile(sign), re.compile(pattern), replacement)
    for sign, pattern, replacement in (
        ("-----", _PEM, SECRET),
        (r"[-_./:A]", _VENDOR_KEYS, SECRET),
        ("@", r"(?<=://)[^/\s@?#]+(?=@)", SECRET),  # https://user:password@host
        ("[:=]", _NAMED, rf"\1{SECRET}"),
        ("=", r"(?i)([?&#](?:key|sig|auth)=)[^&#\s\"'<>]+", rf"\1{SECRET}"),
        (r"\d", r"(?i)\b(bearer\s)(?=\S{0,200}\d)[\w.~+/-]{8,}=*", rf"\1{SECRET}"),
        (r"\s", r"(?i)\b(basic\s)([A-Za-z0-9+/]{8,}={0,2})(?![\w=])", _masked_basic),
        (r"\d", _LONG_WORD, _masked_word),
    )
]
_PERSONAL_RULES: Final[list[_Rule]] = [
    (re.compile(sign), re.compile(pattern), replacement)
    for sign, pattern, replacement in (
        ("@|%40", _EMAIL, EMAIL),
        (r"\d", rf"(?i)(?<![\w-])(?=[A-Z]{{2}}\d\d)(?:{_IBAN_FORMS})(?!\w)", _masked_iban),
        (r"\d", CARD_FORM, _masked_cards),
        (r"\d", _PHONE, PHONE),
    )
]
_RULES: Final = [*_SECRET_RULES[:-1], *_PERSONAL_RULES, _SECRET_RULES[-1]]
"""In order: an address or a number is recognised before a long word is judged."""

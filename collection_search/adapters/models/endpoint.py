"""One endpoint with OpenAI's protocol: its address, its key and its refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from ...errors import ConfigError
from ...text.known_secrets import KnownSecrets
from ...text.redaction import redact
from ...text.validation import whole_number
from ..http import MAX_ANSWER_BYTES, HttpRequest, join_url, parse_json
from ..httpx_client import choose_transmit
from ..refusals import read_refusal, refusal_in
from ..search.http.json_values import read_json
from .output_methods import Tokens

if TYPE_CHECKING:
    from httpx import AsyncClient
    from pydantic import SecretStr

    from ..refusals import VendorRefusal

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_TELLING_KEY: Final = 8
"""Characters from which on a key is no word of a normal answer."""


class EndpointError(Exception):
    """A refusal of the endpoint; the message is its own, without the key."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        kind: str = "",
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status_code = status
        self.code = code
        self.wait_s = wait_s
        """The seconds that it asks to wait before a retry."""
        self.kind = kind
        """A kind of failure, set where the status does not show it."""


class Endpoint:
    """Sends requests to an OpenAI-compatible endpoint, with the key if there is one.

    A name and password in the address take the place of the key: one request can hold one.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: SecretStr | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        self.base_url = base_url or DEFAULT_BASE_URL
        self._api_key = api_key
        secrets = self._secrets()
        self._shown_secrets = KnownSecrets(secrets)
        self._telling_secrets = KnownSecrets(secrets, shortest=_TELLING_KEY)
        self._transmit = choose_transmit(http_client)

    async def post(
        self,
        path: str,
        body: dict[str, Any],
        *,
        timeout_s: float,
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> bytes:
        """Return the body of a successful answer. Raises HttpError, EndpointError; no retry."""
        url, headers = join_url(self.base_url, path), self._login()
        request = HttpRequest("POST", url, headers=headers, json=body)
        return await self._sent(request, timeout_s, max_bytes)

    async def get(self, path: str, *, timeout_s: float, with_key: bool = True) -> bytes:
        """Return the body of a successful answer, as `post` does."""
        headers = self._login() if with_key else {}
        request = HttpRequest("GET", join_url(self.base_url, path), headers=headers)
        return await self._sent(request, timeout_s, MAX_ANSWER_BYTES)

    @property
    def has_key(self) -> bool:
        """Whether requests carry the key."""
        return bool(self._login())

    def _login(self) -> dict[str, str]:
        key = self._key()
        credentials = "@" in self.base_url.partition("://")[2].partition("/")[0]
        return {"Authorization": f"Bearer {key}"} if key and not credentials else {}

    async def _sent(self, request: HttpRequest, timeout_s: float, max_bytes: int) -> bytes:
        response = await self._transmit(request, timeout_s=timeout_s, max_bytes=max_bytes)
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._error(read_refusal(response, read_json(response)))
        return self._telling_secrets.redact_bytes(response.body)

    def read(self, body: bytes) -> dict[str, Any]:
        """Return the JSON object of an answer. Raises EndpointError."""
        try:
            answer = parse_json(body)
        except ValueError as error:
            raise EndpointError("the answer is no JSON", kind="elsewhere") from error
        if not isinstance(answer, dict):
            raise EndpointError("the answer is no JSON object", kind="elsewhere")
        if answer.get("error"):  # some gateways say so with status 200
            refusal = refusal_in(answer, status=HTTPStatus.OK)
            named = refusal.status != HTTPStatus.OK
            raise self._error(refusal if named else replace(refusal, status=HTTPStatus.BAD_GATEWAY))
        return answer

    def _key(self) -> str:
        return self._api_key.get_secret_value() if self._api_key else ""

    def _error(self, refusal: VendorRefusal) -> EndpointError:
        said = refusal.text or (json.dumps(refusal.error) if refusal.error else "")
        redirects = refusal.status < HTTPStatus.BAD_REQUEST
        usual = "it redirects to another one" if redirects else "no reason is given"
        return EndpointError(
            self._told(" ".join(said.split())) or usual,
            status=refusal.status,
            code=" ".join(refusal.codes),
            kind="elsewhere" if redirects else "",
            wait_s=refusal.wait_s,
        )

    def _told(self, text: str) -> str:
        """Return a text of the endpoint with secrets redacted: it may repeat the key."""
        return redact(self._shown_secrets.redact(text), most=400)

    def _secrets(self) -> set[str]:
        """Return the key and the address's password."""
        try:
            password = urlsplit(self.base_url).password or ""
        except ValueError:
            password = ""
        return {self._key(), unquote(password)}


def clean_key(given: SecretStr | None, variable: str) -> SecretStr | None:
    """Return the key without white space around it. Raises ConfigError naming the variable."""
    from pydantic import SecretStr

    key = given.get_secret_value().strip() if given else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{variable} holds characters that no key has. Copy the key again.")
    return SecretStr(key) if key else None


def require_key(what: str, key: SecretStr | None, base_url: str | None) -> None:
    """Raise ConfigError without a key, unless an address of one's own is set."""
    if key is None and not base_url:
        raise ConfigError(
            f"The {what} needs a key: set OPENAI_API_KEY. A compatible "
            "endpoint of your own may need none: set OPENAI_BASE_URL, /v1 included."
        )


def tokens_of(answer: dict[str, Any]) -> Tokens:
    """Return the tokens of a chat answer, by the names of either of OpenAI's protocols."""
    given, made = token_count(answer, "prompt_tokens"), token_count(answer, "completion_tokens")
    return Tokens(
        token_count(answer, "input_tokens") if given is None else given,
        token_count(answer, "output_tokens") if made is None else made,
    )


def token_count(answer: dict[str, Any], name: str) -> int | None:
    """Return a count of the answer's `usage`, None where it is missing."""
    usage = answer.get("usage")
    return whole_number(usage.get(name), least=0) if isinstance(usage, dict) else None

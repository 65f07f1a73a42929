"""One endpoint that speaks OpenAI's protocol: its address, its key, its way to say no."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

from ...errors import ConfigError
from ...text.redaction import SECRET, told
from ..http import MAX_ANSWER_BYTES, HttpRequest, joined, json_value
from ..httpx_client import choose_transmit
from .output_methods import Tokens

if TYPE_CHECKING:
    from httpx import AsyncClient
    from pydantic import SecretStr

    from ..http import HttpResponse

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
_TELLING_KEY: Final = 8
"""Characters from which on a key is no word of a normal answer."""
_SHORTEST: Final = 4
"""Characters of what is a secret at all."""


class EndpointError(Exception):
    """The endpoint said no; the message is its own, without the key."""

    def __init__(
        self, message: str, *, status: int | None = None, code: str = "", kind: str = ""
    ) -> None:
        super().__init__(message)
        self.status_code = status
        self.code = code
        self.kind = kind
        """Set where the status does not tell: see `failures`."""


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
        request = HttpRequest("POST", joined(self.base_url, path), headers=self._login(), json=body)
        return await self._sent(request, timeout_s, max_bytes)

    async def get(self, path: str, *, timeout_s: float, with_key: bool = True) -> bytes:
        """Return the body of a successful answer, as `post` does."""
        headers = self._login() if with_key else {}
        request = HttpRequest("GET", joined(self.base_url, path), headers=headers)
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
            raise self._refusal(response)
        body = response.body
        for secret in self._secrets():
            if len(secret) >= _TELLING_KEY:
                body = body.replace(secret.encode(), SECRET.encode())
        return body

    def read(self, body: bytes) -> dict[str, Any]:
        """Return the JSON object of an answer. Raises EndpointError where it is none of these."""
        try:
            answer = json_value(body)
        except ValueError as error:
            raise EndpointError("the answer is no JSON", kind="elsewhere") from error
        if not isinstance(answer, dict):
            raise EndpointError("the answer is no JSON object", kind="elsewhere")
        if answer.get("error"):  # some gateways say so with status 200
            raise self._error(answer, _status(answer["error"]))
        return answer

    def _key(self) -> str:
        return self._api_key.get_secret_value() if self._api_key else ""

    def _refusal(self, response: HttpResponse) -> EndpointError:
        if response.status < HTTPStatus.BAD_REQUEST:
            target = self._told(response.headers.get("location", "another one"))
            return EndpointError(
                f"it redirects to {target}", status=response.status, kind="elsewhere"
            )
        try:
            answer = response.json()
        except ValueError:
            answer = re.sub(r"<[^>]*>", " ", response.text()[:4000])
        return self._error(answer, response.status)

    def _error(self, answer: Any, status: int) -> EndpointError:
        message, code = _message(answer)
        said = self._told(" ".join(message.split())) or "no reason is given"
        return EndpointError(said, status=status, code=code)

    def _told(self, text: str) -> str:
        """Return what may be shown of a text that the endpoint sent: it may repeat the key."""
        for secret in self._secrets():
            text = text.replace(secret, SECRET)
        return told(text, most=400)

    def _secrets(self) -> list[str]:
        """Return the key and the address's password, as they are and as addresses have them."""
        try:
            password = urlsplit(self.base_url).password or ""
        except ValueError:
            password = ""
        plain = {self._key(), unquote(password)}
        forms = {*plain, password, *(quote(secret, safe="") for secret in plain)}
        return sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)


def clean_key(given: SecretStr | None, variable: str) -> SecretStr | None:
    """Return the key without white space around it. Raises ConfigError naming the variable."""
    from pydantic import SecretStr

    key = given.get_secret_value().strip() if given else ""
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{variable} holds characters that no key has. Copy the key again.")
    return SecretStr(key) if key else None


def tokens_of(answer: dict[str, Any]) -> Tokens:
    """Return what a chat answer cost, in the words of either of OpenAI's protocols."""
    given, made = token_count(answer, "prompt_tokens"), token_count(answer, "completion_tokens")
    return Tokens(
        token_count(answer, "input_tokens") if given is None else given,
        token_count(answer, "output_tokens") if made is None else made,
    )


def token_count(answer: dict[str, Any], name: str) -> int | None:
    """Return a count of the answer's `usage`, None where the endpoint does not say."""
    usage = answer.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and count >= 0 else None


def _message(answer: Any) -> tuple[str, str]:
    """Return the message and the code of an error body, in the dialects that are in use."""
    if isinstance(answer, list) and answer:  # Google wraps it in a list
        answer = answer[0]
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or error
    text = message if isinstance(message, str) else json.dumps(message)
    if isinstance(error.get("param"), str):
        text += f" ({error['param']})"
    return text, str(error.get("code") or error.get("type") or "")


def _status(error: Any) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    client_error = HTTPStatus.BAD_REQUEST
    return code if isinstance(code, int) and code >= client_error else HTTPStatus.BAD_GATEWAY

"""Embeddings of OpenAI, or of any endpoint that speaks its protocol."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

import numpy as np
from pybase64 import b64decode

from ...contracts.collection import Embedded
from ...errors import ConfigError
from ...runtime.concurrency import compute
from ...text.redaction import mask_text
from ...text.urls import mask_login
from ..models.endpoint import Endpoint, EndpointError, clean_key, require_key, token_count
from ..models.error_mapping import Remedies, model_errors
from ..models.health_check import check_endpoint_health
from ..models.output_methods import ModelRequests, Tokens
from ..models.single_retry import retry_once
from .batches import clean_texts, empty_vectors, unit_vectors, unusable_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ...contracts.collection import Vectors
    from ...contracts.health import Health
    from ...settings import Settings

MAX_INPUTS: Final = 2_048
MAX_BATCH_CHARS: Final = 250_000
"""Limits of one request; OpenAI refuses more inputs, and more than 300,000 tokens."""
_AT_ONCE: Final = 4
"""Concurrent requests of one call."""
MAX_REQUESTS: Final = 48
"""Concurrent requests of an embedder: each answer is large, and waits in memory to be read."""
_MAX_BYTES: Final = 128 * 1024 * 1024
_QUICK_BYTES: Final = 1024 * 1024
"""A larger answer is read in a thread: it takes more than a few milliseconds."""
_KEY: Final = "COLLECTION_SEARCH_EMBEDDINGS_API_KEY"


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible endpoint as `Embedder`: one request for a normal run.

    With `dimensions` the endpoint makes shorter vectors than the model's own. The fingerprint
    does not depend on the address: a known name must mean the known model everywhere.
    """

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        api_key: SecretStr | None = None,
        base_url: str | None = None,
        timeout_s: float = 30.0,
        remedies: Remedies | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        self.fingerprint = f"openai:{model}@{dimensions}" if dimensions else f"openai:{model}"
        self._model = model
        self._dimensions = dimensions
        self._dimension = dimensions  # of the last answer: the endpoint may change its model
        self._endpoint = Endpoint(base_url, api_key, http_client)
        self._timeout_s = timeout_s
        self._remedies = remedies or Remedies()
        self._takes_base64: bool | None = None
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @classmethod
    def from_settings(
        cls, settings: Settings, *, model: str = "", http_client: AsyncClient | None = None
    ) -> Self:
        """Return the embedder of `model` or `model@dimensions`. Raises ConfigError.

        The key of the chat model's endpoint is never sent to another address than its own.
        """
        name, dimensions = _named(model)
        key, key_variable = _access(settings)
        base_url = settings.embeddings_base_url or settings.openai_base_url
        require_key(f"embedding model openai:{name}", key, base_url)
        own = settings.embeddings_base_url
        variable = "COLLECTION_SEARCH_EMBEDDINGS_BASE_URL" if own else "OPENAI_BASE_URL"
        return cls(
            name,
            dimensions=dimensions,
            api_key=key,
            base_url=base_url,
            timeout_s=settings.model_timeout_s,
            http_client=http_client,
            remedies=Remedies(
                key=key_variable,
                address=f"{variable} ({mask_text(mask_login(base_url))})" if base_url else variable,
                model="COLLECTION_SEARCH_EMBEDDINGS",
            ),
        )

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), d)` float32, unit length, in order. Raises `ModelError`."""
        if not texts:
            return Embedded(empty_vectors(self._dimension), input_tokens=0)
        requests = ModelRequests()
        with model_errors(
            self._subject,
            remedies=self._remedies,
            timeout_s=self._timeout_s,
            requests=requests,
        ):
            answers = await self._all(list(_batches(clean_texts(texts))), requests)
        tokens = [answer.input_tokens for answer in answers]
        vectors = [answer.vectors for answer in answers]
        return Embedded(
            vectors[0] if len(vectors) == 1 else await compute(_joined, vectors),
            input_tokens=None if None in tokens else sum(filter(None, tokens)),
        )

    async def acheck(self, *, timeout: float) -> Health:  # noqa: ASYNC109 - as search adapters
        """Return whether the endpoint answers and accepts the key. Raises ModelError."""
        with model_errors(self._subject, remedies=self._remedies, timeout_s=timeout):
            return await check_endpoint_health(self._endpoint, self._model, timeout_s=timeout)

    async def _all(self, batches: Sequence[list[str]], requests: ModelRequests) -> list[Embedded]:
        """Return the batches' answers in order; one that fails cancels the others."""
        first = await self._batch(batches[0], requests)  # finds out what the endpoint takes
        if len(batches) == 1:
            return [first]
        turn = asyncio.Semaphore(_AT_ONCE)

        async def in_turn(texts: list[str]) -> Embedded:
            async with turn:
                return await self._batch(texts, requests, first.vectors.shape[1])

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(in_turn(texts)) for texts in batches[1:]]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [first, *(task.result() for task in tasks)]

    async def _batch(
        self, texts: list[str], requests: ModelRequests, dimension: int | None = None
    ) -> Embedded:
        """Return the vectors of one request, `dimension` is that of the call's first one."""
        expected = dimension or self._dimensions
        body: dict[str, Any] = {"model": self._model, "input": texts}
        if self._dimensions:
            body["dimensions"] = self._dimensions
        async with self._turn():
            requests.begin()
            answer = await self._answer(body)
            if len(answer) > _QUICK_BYTES:
                read = await compute(self._read, answer, len(texts), expected)
            else:
                read = self._read(answer, len(texts), expected)
        requests.pay(Tokens(read.input_tokens, 0))
        self._dimension = read.vectors.shape[1]
        return read

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for one of the requests that may be under way, as long as for an answer."""
        turns = self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_REQUESTS))
        async with asyncio.timeout(self._timeout_s):
            await turns.acquire()
        try:
            yield
        finally:
            turns.release()

    async def _answer(self, body: dict[str, Any]) -> bytes:
        """Return the answer, in base64 where the endpoint accepts that.

        A first request that is refused for any reason is tried once without it.
        """
        if self._takes_base64 is not False:
            try:
                answer = await self._post(body | {"encoding_format": "base64"})
            except EndpointError as error:
                if self._takes_base64 or error.status_code not in {400, 422}:
                    raise
            else:
                self._takes_base64 = True
                return answer
        answer = await self._post(body)
        self._takes_base64 = False
        return answer

    async def _post(self, body: dict[str, Any]) -> bytes:
        """Return the answer to a request, which a busy endpoint is sent twice."""

        async def post(timeout_s: float) -> bytes:
            return await self._endpoint.post(
                "embeddings", body, timeout_s=timeout_s, max_bytes=_MAX_BYTES
            )

        until = asyncio.get_running_loop().time() + self._timeout_s
        return await retry_once(post, until=until)

    def _read(self, body: bytes, count: int, dimension: int | None) -> Embedded:
        answer = self._endpoint.read(body)
        try:
            rows = _rows(answer["data"], count)
        except (LookupError, TypeError, ValueError) as error:
            raise unusable_error(self._subject, "an answer that holds no vectors") from error
        vectors = unit_vectors(rows, count=count, subject=self._subject, dimension=dimension)
        tokens = token_count(answer, "prompt_tokens")
        return Embedded(vectors, token_count(answer, "total_tokens") if tokens is None else tokens)

    @property
    def _subject(self) -> str:
        return f"The embedding model {self._model}"


def _named(model: str) -> tuple[str, int | None]:
    """Return name and dimensions of `model@dimensions`; names of models may begin with @.

    >>> _named("text-embedding-3-small@512"), _named("@cf/baai/bge-m3")
    (('text-embedding-3-small', 512), ('@cf/baai/bge-m3', None))
    """
    name = model.strip()
    dimensions = re.fullmatch(r"(.+)@([1-9]\d{0,4})", name)
    if not name:
        raise ConfigError(
            "No embedding model is named. Write openai:<model>, for example "
            "openai:text-embedding-3-small, or openai:text-embedding-3-small@512."
        )
    return (dimensions[1], int(dimensions[2])) if dimensions else (name, None)


def _access(settings: Settings) -> tuple[SecretStr | None, str]:
    """Return the key of the embeddings' address, and the variable that it comes from."""
    key = clean_key(settings.embeddings_key(), _KEY)
    if key is None and not settings.embeddings_base_url:
        return clean_key(settings.openai_key(), "OPENAI_API_KEY"), "OPENAI_API_KEY"
    return key, _KEY


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in groups that one request takes."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == MAX_INPUTS or chars + len(text) > MAX_BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    yield batch


def _joined(parts: Sequence[Vectors]) -> Vectors:
    """Return all rows in one array, copied part by part: `np.concatenate` would hold the GIL."""
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=np.float32)
    end = 0
    for part in parts:
        start, end = end, end + len(part)
        whole[start:end] = part
    return whole


def _rows(data: Any, count: int) -> list[Any]:
    """Return the vectors in the order of the texts. Raises an error for any other item."""
    items = data
    if len(data) == count and any("index" in item for item in data):
        items = sorted(data, key=lambda item: item["index"])
        if [item["index"] for item in items] != list(range(count)):
            raise ValueError("The vectors are not numbered from 0.")
    return [_vector(item["embedding"]) for item in items]


def _vector(given: Any) -> Any:
    """Return the numbers of an item: base64 of little-endian float32, or a list."""
    if isinstance(given, str):
        return np.frombuffer(b64decode(given, validate=True), dtype="<f4")
    return given

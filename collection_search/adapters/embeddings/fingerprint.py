"""The fingerprint of a LangChain `Embeddings` object: equal ones make comparable vectors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..models.endpoint import DEFAULT_BASE_URL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MODEL: Final = ("model", "model_name", "model_id")
_DEPLOYMENT: Final = ("deployment", "azure_deployment", "deployment_name", "endpoint_name")
_ADDRESS: Final = (
    "base_url",
    "openai_api_base",
    "api_base",
    "azure_endpoint",
    "endpoint",
    "endpoint_url",
    "api_url",
)


def fingerprint_of(embeddings: Any) -> str:
    """Return class, deployment, model, a hash of an address of its own, and dimension.

    Raises ConfigError for an object that names no model.
    """
    kind = type(embeddings).__name__
    model = next(_texts(embeddings, _MODEL), None)
    deployment = next(_own(embeddings, _DEPLOYMENT), None)
    names = dict.fromkeys(name for name in (deployment, model) if name)
    if not names:
        raise ConfigError(
            f"The embeddings object {kind} does not say which model it is, so its vectors could "
            "be mixed with those of another one. Name it: give "
            f'LangChainEmbedder(<the {kind}>, fingerprint="<a name of your own>") from '
            "collection_search.adapters.embeddings.langchain."
        )
    parts = ["langchain", kind, *names, *_address_hash(embeddings)]
    dimensions = getattr(embeddings, "dimensions", None)
    return ":".join(parts) + (f"@{dimensions}" if isinstance(dimensions, int) else "")


def _texts(embeddings: Any, attributes: Iterable[str]) -> Iterator[str]:
    for attribute in attributes:
        value = getattr(embeddings, attribute, None)
        if isinstance(value, str) and value:
            yield value


def _own(embeddings: Any, attributes: Iterable[str]) -> Iterator[str]:
    """Yield the values that are not the class's default."""
    fields = getattr(type(embeddings), "model_fields", {})
    for attribute in attributes:
        default = getattr(type(embeddings), attribute, None)
        if attribute in fields:
            default = fields[attribute].default
        yield from (text for text in _texts(embeddings, [attribute]) if text != default)


def _address_hash(embeddings: Any) -> list[str]:
    """Return a hash of the model's address, or nothing for the vendor's own address."""
    addresses = {_plain(address) for address in _own(embeddings, _ADDRESS)}
    addresses -= {_plain(DEFAULT_BASE_URL)}
    if not addresses:  # OpenAI's client reads one more variable than its LangChain class
        client = getattr(getattr(embeddings, "client", None), "_client", None)
        address = str(getattr(client, "base_url", None) or DEFAULT_BASE_URL)
        addresses = {_plain(address)} - {_plain(DEFAULT_BASE_URL)}
    text = " ".join(sorted(addresses))
    return [hashlib.sha256(text.encode()).hexdigest()[:8]] if text else []


def _plain(address: str) -> str:
    """Return host, port and path: a password may change, and so may a parameter.

    >>> _plain("https://me:secret@Host.example:8000/v1/?key=1"), _plain("host:8000")
    ('host.example:8000/v1', 'host:8000')
    """
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
    except ValueError:
        return address
    return parts.netloc.rpartition("@")[2].lower() + parts.path.rstrip("/")

"""Key, address and limits of one search provider."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr

from ..text.urls import mask_login
from .endpoint_description import JsonApi

Address = Annotated[str, PlainSerializer(mask_login)]
"""An address that may have a password, which no dump shows."""


class ProviderAccess(BaseModel):
    """Key, address and limits of one search provider."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    api_key: SecretStr | None = None
    base_url: Address | None = Field(default=None, repr=False)
    """Scheme, host and prefix, to which the vendor's documented path is appended."""
    search_engine_id: str | None = None
    """Google's `cx`."""
    rate_per_s: float | None = Field(default=None, gt=0, le=1000)
    """Requests that the plan allows in a second; further ones wait."""
    quota: int | None = Field(default=None, ge=0)
    """Requests that may be made in a `quota_period`, by all processes of this data folder."""
    quota_period: Literal["day", "month"] = "month"
    json_api: JsonApi | None = None
    """The description of an endpoint that answers in JSON; its provider's name is free."""

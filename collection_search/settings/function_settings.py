"""The entry of a function tool in the map `providers`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from .provider_access import Address


class WebSearchSettings(BaseModel):
    """Backend of the function tool `web_search`, in the form of the registry's settings map."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    backend: str | None = Field(default=None, min_length=1)
    """Name of a search provider; None: that of the settings."""
    url: Address | None = Field(default=None, repr=False)
    """Address of the backend, such as a SearXNG instance's."""
    max_results: int = Field(default=5, ge=1, le=10)
    """Most results of one call."""

    @field_validator("url")
    @classmethod
    def _has_backend(cls, url: str | None, info: ValidationInfo) -> str | None:
        backend = info.data.get("backend", "")  # it is absent where it is wrong itself
        if url is not None and backend in {None, "auto"}:
            raise ValueError("it needs a backend beside it, such as searxng")
        return url


class FunctionEntry(BaseModel):
    """One function tool of the `providers` map."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    enabled: bool = True
    settings: WebSearchSettings = WebSearchSettings()

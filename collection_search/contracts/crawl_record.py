"""The record of a crawl that fills a collection."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CrawlRecord(BaseModel):
    """A crawl of a collection, which a refresh repeats to find new pages."""

    model_config = ConfigDict(frozen=True)

    starts: list[str]
    """Normalized URLs; a collection has one crawl from the same starts."""
    depth: int
    """How many links lead from a start to a page at most."""
    max_pages: int
    """Limit of the crawl's pages in the collection, over all refreshes."""
    include: list[str] = Field(default_factory=list)
    """See `collection_search.text.path_patterns.PathPatterns`."""
    exclude: list[str] = Field(default_factory=list)
    is_pdf: bool | None = None
    """True: PDFs only; False: everything else; the address decides."""
    url_keys: list[str] = Field(default_factory=list)
    """Pages that it found. A store returns those that are stored, wait or failed: a page that
    vanished makes room for another one."""
    removed: list[str] = Field(default_factory=list)
    """Keys of pages that were deleted one by one, set by the store: no crawl of the collection
    brings them back."""
    first_run_at: float = 0.0
    """Unix time, set by the store, as is the next."""
    last_run_at: float = 0.0

    @property
    def room(self) -> int:
        """How many more pages it may bring into the collection."""
        return max(0, self.max_pages - len(self.url_keys))

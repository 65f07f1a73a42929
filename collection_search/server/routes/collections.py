"""Collections and their documents: listed, searched and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.embedded_text import embedder_of_vectors
from ...ports.collections import find_page
from ...runtime.concurrency import offload
from ...text.timestamps import iso_time
from ...tools.removal import adelete_collection, adelete_pages
from ..access import Admin, Viewer  # noqa: TC001 - FastAPI reads it
from ..numbers import Count  # noqa: TC001
from ..opened import Base, CollectionName, context_of, open_collection

if TYPE_CHECKING:
    from ...contracts.collection import CollectionInfo, StoredDocument
    from ...contracts.stored_lists import DocumentAges, ListedDocument
    from ...ports import Storage

router = APIRouter(tags=["collections"])


class CollectionView(BaseModel):
    """A collection in figures."""

    name: str
    documents: int
    chunks: int
    pending: int = Field(description="Pages that wait to be fetched or ingested.")
    failed: int = Field(description="Pages that were given up.")
    updated_at: str | None = Field(
        description="When a document was stored or found unchanged last; null in an empty one."
    )
    oldest_at: str | None = Field(
        description="The same time of the document that was not looked at for longest."
    )
    embedder: str | None = Field(description="Null: it is searched by its words alone.")
    open_gates: int = Field(description="Reviews that wait for a person.")


class CollectionList(BaseModel):
    """The collections of a tenant."""

    collections: list[CollectionView]


class DocumentView(BaseModel):
    """A document without its text."""

    url: str
    title: str
    is_pdf: bool
    fetched_at: str | None = Field(
        description="When the page was fetched; null for a text that a provider delivered."
    )
    stored_at: str = Field(description="When it was stored or found unchanged last.")
    chunks: int
    provenance: dict[str, Any]


class DocumentList(BaseModel):
    """A part of the documents, by address."""

    total: int = Field(description="Documents that fit the search.")
    documents: list[DocumentView]


class ChunkView(BaseModel):
    """A part of a document; passages of answers consist of them."""

    ordinal: int
    start: int = Field(description="Place in the document's text, in characters.")
    end: int
    text: str
    headings: list[str]
    page: int | None = Field(description="The page of a PDF on which it begins.")
    table_header: str | None = Field(description="Header of the table that it continues.")


class WholeDocument(BaseModel):
    """A document with its text."""

    url: str
    title: str
    also_at: list[str] = Field(description="Further addresses of the page.")
    provenance: dict[str, Any]
    chunks: list[ChunkView]


class PagesToDelete(BaseModel):
    """Documents to delete."""

    model_config = ConfigDict(extra="forbid")

    urls: list[str] = Field(min_length=1, max_length=500)


class DeletedPages(BaseModel):
    """What a deletion of documents did."""

    deleted: list[str]
    unknown: list[str] = Field(description="Addresses at which nothing was stored.")


class DeletedCollection(BaseModel):
    """What a deletion of a collection did."""

    documents: int


@router.get("/collections")
async def show_collections(caller: Viewer, base: Base) -> CollectionList:
    """Return the collections of your tenant, by name."""
    store = await context_of(base, caller).storage()
    return CollectionList(collections=await offload(_views, store, caller.tenant))


@router.get("/collections/{name:path}/documents")
async def show_documents(
    name: CollectionName,
    caller: Viewer,
    base: Base,
    *,
    offset: Annotated[Count, Query()] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    search: Annotated[
        str, Query(max_length=200, description="Words of the title or address, in any case.")
    ] = "",
) -> DocumentList:
    """Return a part of a collection's documents, by address."""
    opened = await open_collection(base, caller, name)
    page = await offload(
        opened.store.collections.documents,
        opened.scope,
        search=search,
        offset=offset,
        limit=limit,
    )
    return DocumentList(total=page.total, documents=[_document(one) for one in page.documents])


@router.get("/collections/{name:path}/document", response_model=WholeDocument)
async def show_document(
    name: CollectionName, caller: Viewer, base: Base, url: Annotated[str, Query(max_length=8192)]
) -> Response:
    """Return one document with its text, in which the passages of an answer have their places."""
    opened = await open_collection(base, caller, name)
    store = opened.store.collections
    key = await offload(find_page, store, opened.scope, url)
    found = await offload(store.get, opened.scope, [key])
    if not found:
        raise HTTPException(404, f"{name!r} has no document at {url}.")
    return Response(await offload(_whole_json, found[0]), media_type="application/json")


@router.delete("/collections/{name:path}/documents")
async def remove_documents(
    name: CollectionName, caller: Admin, base: Base, pages: PagesToDelete
) -> DeletedPages:
    """Delete documents for good, with what waits to be ingested at their addresses."""
    opened = await open_collection(base, caller, name)
    deleted, unknown = await adelete_pages(opened.context, name, pages.urls)
    return DeletedPages(deleted=deleted, unknown=unknown)


@router.get("/collections/{name:path}")
async def show_collection(name: CollectionName, caller: Viewer, base: Base) -> CollectionView:
    """Return one collection in figures."""
    opened = await open_collection(base, caller, name)
    views = await offload(_views, opened.store, caller.tenant)
    return next(one for one in views if one.name == name)


@router.delete("/collections/{name:path}")
async def remove_collection(name: CollectionName, caller: Admin, base: Base) -> DeletedCollection:
    """Delete a collection for good, with its questions, reviews, runs and pages that wait."""
    opened = await open_collection(base, caller, name)
    return DeletedCollection(documents=await adelete_collection(opened.context, name))


def _views(store: Storage, tenant: str) -> list[CollectionView]:
    freshness = store.collections.freshness(tenant)
    waiting = store.gates.waiting_counts(tenant)
    return [
        _view(info, freshness.get(info.collection), waiting.get(info.collection, 0))
        for info in store.collections.collections(tenant)
    ]


def _view(info: CollectionInfo, fresh: DocumentAges | None, waiting: int) -> CollectionView:
    return CollectionView(
        name=info.collection,
        documents=info.documents,
        chunks=info.chunks,
        pending=info.waiting,
        failed=info.failed,
        updated_at=iso_time(fresh.newest) if fresh else None,
        oldest_at=iso_time(fresh.oldest) if fresh else None,
        embedder=embedder_of_vectors(info.embedder) if info.embedder else None,
        open_gates=waiting,
    )


def _document(one: ListedDocument) -> DocumentView:
    return DocumentView(
        url=one.url,
        title=one.title,
        is_pdf=one.is_pdf,
        fetched_at=one.provenance.get("fetched_at"),
        stored_at=iso_time(one.stored_at),
        chunks=one.chunks,
        provenance=dict(one.provenance),
    )


def _whole_json(stored: StoredDocument) -> str:
    """Return the document as JSON; a large one takes time."""
    return _whole(stored).model_dump_json()


def _whole(stored: StoredDocument) -> WholeDocument:
    document = stored.document
    return WholeDocument(
        url=document.url,
        title=document.title,
        also_at=list(document.also_at),
        provenance=dict(document.provenance),
        chunks=[
            ChunkView(
                ordinal=chunk.ordinal,
                start=chunk.start,
                end=chunk.end,
                text=chunk.text,
                headings=list(chunk.headings),
                page=chunk.page,
                table_header=chunk.table_header,
            )
            for chunk in stored.chunks
        ],
    )

"""The public names by what they are for: the order of the Python reference."""

from __future__ import annotations

from typing import Final

PACKAGE: Final = "collection_search"

TOPICS: Final = {
    "Graphs": (
        "One run of a graph, from its input to its output.",
        """
        CollectionSearchGraph CollectionReviewGraph UniversalIngestionGraph ResearchAgent
        build_graph graph SearchContext Settings
        GraphInput ReviewInput IngestionInput ReviewDecision
        """,
    ),
    "Search": (
        "Web search without a graph.",
        """
        WebSearchService SearchRequest SearchResponse ServiceSearchResult
        WebSearchWorker WebSearchInput WebSearchResponse SearchResult SearchOptions
        ToolContext ScopeContext BusinessContext ToolOutcome
        """,
    ),
    "Collections": (
        "Pages into a collection, and passages out of it. A name with `a` in front is a coroutine.",
        """
        ingest aingest Ticket TicketStatus wait await_ticket retrieve aretrieve Passage
        answer aanswer Answer verify_coverage averify_coverage Coverage
        refresh arefresh RefreshReport reembed areembed read_page aread_page ReadPage
        CollectionVectorStore CollectionRetriever
        """,
    ),
    "Tools for models": (
        "The same functions for LangChain, OpenAI and Anthropic.",
        """
        WebSearchTool RetrieveTool CollectionSearchTool ReadPageTool
        openai_tool answer_openai_call anthropic_tool answer_anthropic_call
        call_function CallContext FunctionDefinition FunctionResult
        FunctionRegistry WebSearchProvider
        """,
    ),
    "Process": (
        "Metrics, and the garbage collector of a process that asks many questions.",
        "make_metrics_app metrics_collectors write_metrics relieve_collector",
    ),
    "Errors": (
        (
            "Every error is a CollectionSearchError. Its message says what happened and what to do."
            "\n`Settings(...)` and `SearchContext(...)` themselves raise pydantic's ValidationError"
            "\nfor a wrong value; `Settings.load`, the graphs and the functions raise ConfigError"
            "\nand InputError."
        ),
        """
        CollectionSearchError InputError InvalidQueryError InvalidUrlError ArrowSyntaxError
        ConfigError MissingExtraError CostLimitReached QualityThresholdError
        SearchProviderError SearchProviderAuthenticationFailed SearchProviderQuotaExceeded
        SearchProviderTimeout SearchProviderUnavailable SearchProviderBadResponse
        SearchProviderInvalidQuery WebSearchError
        FetchError ExtractionError IngestError ModelError StoreError
        """,
    ),
}
"""Heading -> (what the names have in common, the names)."""

MODULES: Final = {
    "ports": "What graphs and tools need from outside, as protocols. An adapter implements one.",
    "contracts": "The data that crosses borders.",
    "testing": "Doubles and contract suites for your own tests.",
}
"""Further public modules -> what is in them."""


def names_of(topic: str) -> list[str]:
    """Return the names of a topic in their order."""
    return TOPICS[topic][1].split()

"""State, updates and output of the research agent.

All values are JSON-plain but `messages`: chat clients and A2A need LangChain's messages with the
reducer `add_messages`. Every checkpointer of LangGraph can store these.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage  # noqa: TC002 - LangGraph reads the annotations
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict

# LangGraph reads these types when it builds the graph.
from ..contracts.answer import AnswerOutcome, AnswerReason  # noqa: TC001
from ..contracts.state import RunBusiness, RunIds, Telemetry  # noqa: TC001

ResearchFlag = Literal[
    "no_model", "model_failed", "tool_failed", "unsupported_sentences", "cost_limit_reached"
]
"""Problems that did not end the run."""


class RequestedCall(TypedDict):
    """A call of a tool that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] | str


class TurnEntry(TypedDict):
    """One message of the model, or one result of a tool, in the turn that is running."""

    role: Literal["assistant", "tool"]
    text: str
    tool_calls: list[RequestedCall]
    call_id: str | None
    sources: list[int]
    """Numbers of the passages that a tool found; their texts stand in the state once."""
    cut_off: NotRequired[bool]
    """Whether the model's text ends at a limit of tokens."""


class ModelFailure(TypedDict):
    """Why the model was not asked to the end."""

    reason: AnswerReason
    cause: str


class ResearchState(TypedDict):
    """The state of the research agent."""

    question: Annotated[str, EphemeralValue]
    """Forgotten after the first node, so that a later turn cannot take it for its own."""
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation as people see it, over all turns."""
    asked: str
    """The question of this turn."""
    collection_scope: str | None
    passages: list[dict[str, Any]]
    """What was found, over the last turns too; `n` is unique in a thread."""
    turn: list[TurnEntry]
    """What model and tools said in this turn."""
    failure: ModelFailure | None
    answer: dict[str, Any] | None
    """The `Answer`."""
    outcome: AnswerOutcome | None
    ids: RunIds
    tenant_id: str
    """Whose turn it is. It goes on with a context of this tenant only."""
    business: RunBusiness
    started_at: float
    flags: list[ResearchFlag]
    telemetry: Telemetry
    summary: str
    """The turn in one to three sentences; empty until it ends."""


class ResearchOutput(TypedDict):
    """What the research agent returns; every key is there at every end."""

    messages: Annotated[
        list[AnyMessage], Field(description="The conversation, this answer last."), add_messages
    ]
    outcome: Annotated[AnswerOutcome, Field(description="Whether there is a written answer.")]
    summary: Annotated[
        str,
        Field(description="What was asked, found and answered, and what it cost, for people."),
    ]
    answer: Annotated[
        dict[str, Any],
        Field(description="The answer with its sentences and their citations, or why not."),
    ]
    passages: Annotated[
        list[dict[str, Any]], Field(description="What was found; citations name `n`.")
    ]
    collection_scope: Annotated[
        str | None, Field(description="The collection that was asked; none for the web alone.")
    ]
    flags: Annotated[list[ResearchFlag], Field(description="Problems that did not end the run.")]
    telemetry: Annotated[
        Telemetry, Field(description="Latency, tokens and cost per node, and their sums.")
    ]


class _Update(TypedDict):
    flags: list[ResearchFlag]
    telemetry: dict[str, Any]


class QuestionUpdate(_Update):
    """`k_read_question`: the question, and empty values for what the last turn left."""

    messages: list[AnyMessage]
    asked: str
    collection_scope: str | None
    passages: list[dict[str, Any]]
    turn: list[TurnEntry]
    failure: None
    answer: None
    outcome: None


class ModelUpdate(_Update):
    """`k_ask_model`."""

    turn: list[TurnEntry]
    failure: ModelFailure | None


class ToolsUpdate(_Update):
    """`k_call_tools`."""

    turn: list[TurnEntry]
    passages: list[dict[str, Any]]


class AnswerUpdate(_Update):
    """`k_cite_answer`; `outcome` is always set."""

    messages: list[AnyMessage]
    answer: dict[str, Any]
    outcome: AnswerOutcome

"""Input of the research agent: a question, or the messages of a chat."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from langchain_core.messages import AnyMessage, HumanMessage, convert_to_messages
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from ..text.clean import MAX_CHAT_CHARS, clean_chat_text
from ..text.problems import list_problems
from .collection import Passage
from .search import Name

ChatText = Annotated[
    str, AfterValidator(clean_chat_text), Field(min_length=1, max_length=MAX_CHAT_CHARS)
]
"""What a person wrote in a chat. It is no query: what is searched for is made of it."""
_QUESTION: TypeAdapter[str] = TypeAdapter(ChatText)


class ResearchInput(BaseModel):
    """Validated input of the research agent.

    A chat client sends `messages` alone; the last one of the user's is the question.
    """

    model_config = ConfigDict(extra="forbid")

    kept_on_thread: ClassVar = frozenset({"collection_scope"})
    """Fields that hold for the next turn too, where that does not give them."""

    question: ChatText | None = Field(
        default=None,
        description="What you want to know; not needed where messages end in a question.",
        examples=["How do I cancel an asyncio task after a timeout?"],
    )
    messages: list[AnyMessage] = Field(
        default_factory=list,
        description="The conversation; its last message asks the question.",
        examples=[[{"role": "user", "content": "How do I cancel an asyncio task?"}]],
    )
    collection_scope: Name | None = Field(
        default=None,
        description=(
            "The collection to answer from; by default that of the settings or of the turn before."
            " Without any only the web is searched."
        ),
        examples=["software_docs"],
    )

    @field_validator("messages", mode="before")
    @classmethod
    def _any_form(cls, given: Any) -> Any:
        """Accept what LangChain accepts: texts, pairs of role and text, and objects with a role."""
        if not isinstance(given, list | tuple):
            return given
        try:
            return convert_to_messages(given)
        except KeyError as error:  # as of a tool's message without its call
            raise ValueError(f"a message needs its {error.args[0]}") from None
        except (ValueError, NotImplementedError, TypeError):
            raise ValueError("give texts, or maps with role and content") from None

    @model_validator(mode="after")
    def _asks_something(self) -> ResearchInput:
        self.asked()
        return self

    def asked(self) -> str:
        """Return the question of this turn, cleaned. Raises ValueError where there is none."""
        if self.question is not None:
            return self.question
        if not self.messages or not isinstance(self.messages[-1], HumanMessage):
            raise ValueError("give a question, or messages that end in one of the user's")
        try:
            return _QUESTION.validate_python(str(self.messages[-1].text))
        except ValidationError as error:
            said = list_problems(error)[0]["msg"]
            raise ValueError(f"the last message is the question: {said}") from None


class ResearchTurn(ResearchInput):
    """What the first node reads: the input, and what the turns before have found."""

    passages: list[Passage] = Field(default_factory=list)
    tenant_id: str | None = None
    """Whose turns these were."""

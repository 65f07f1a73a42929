"""What tests of query models ask, and how they read a failure."""

from __future__ import annotations

import json

import pytest

from collection_search.errors import ModelError

QUERIES = ["asyncio cancel task", "asyncio timeout documentation", "asyncio guide"]
ANSWER = {"queries": QUERIES}
FENCED = f"```json\n{json.dumps(ANSWER)}\n```"
KEY = "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0"
METHODS = ["json_schema", "function_calling", "json_mode"]


async def plan(model, question="How do I cancel a task?", purpose="collection_search"):
    return await model.plan(question, purpose=purpose, count=3)


async def failure(model) -> str:
    """The message of the plan's ModelError, which has a cause."""
    with pytest.raises(ModelError) as caught:
        await plan(model)
    assert caught.value.__cause__ is not None
    return str(caught.value)

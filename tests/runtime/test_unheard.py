import pytest

from collection_search.runtime.unheard import NULL_LISTENER


async def test_where_nobody_listens_calls_share_one_object_and_errors_pass():
    """A call costs no new object, takes every fact, and hides nothing."""
    async with NULL_LISTENER.tool("search", {"query": "q"}) as tool:
        tool.returned({"results": []})
        tool.failed("Kind", "message")
    async with NULL_LISTENER.chat("model", [("human", "hi")]) as chat:
        chat.answered("text", model="m", input_tokens=1, output_tokens=None)
    async with NULL_LISTENER.embedding("model", 3) as embedding:
        embedding.embedded(count=3, dimension=4, input_tokens=None)
    assert tool is chat is embedding
    with pytest.raises(ValueError, match="work"):
        async with NULL_LISTENER.tool("search", {}):
            raise ValueError("work")

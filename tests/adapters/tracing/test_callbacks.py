import asyncio

import pytest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.context import collect_runs
from support.recorded_runs import RunRecorder

from collection_search.adapters.tracing.callbacks import CallbackListener
from collection_search.testing import ScriptedChatModel


@pytest.fixture
def recorder():
    return RunRecorder()


@pytest.fixture
def listener(recorder):
    callbacks = AsyncCallbackManager.configure(inheritable_callbacks=[recorder])
    return CallbackListener({"callbacks": callbacks, "tags": ["mine"], "metadata": {"node": "n"}})


async def test_a_tool_run_with_its_output(listener, recorder):
    """The metadata of the config goes along; broken text becomes readable, secrets are masked."""
    async with listener.tool("web_search", {"query": "x\ud800", "token": "abc"}) as call:
        call.returned({"results": [{"title": "api_key=abc jane@example.com"}]})
    (run,) = recorder.of("tool")
    assert (run.name, run.given) == ("web_search", {"query": "x?", "token": "[secret]"})
    assert run.output == {"results": [{"title": "api_key=[secret] jane@example.com"}]}
    assert run.metadata["node"] == "n"
    assert (run.error, run.ended) == (None, 1)


async def test_a_tool_that_says_that_it_failed(listener, recorder):
    """Without an exception; nothing passes out of the block."""
    async with listener.tool("web_search", {}) as call:
        call.failed("Timeout", "no answer for api_key=abc")
    (run,) = recorder.of("tool")
    assert str(run.error) == "Timeout: no answer for api_key=[secret]"


@pytest.mark.parametrize("kind", ["tool", "chat", "embedding"])
async def test_an_exception_ends_the_run_and_passes_through(listener, recorder, kind):
    """The original error for the caller, one without secrets for the handler."""
    blocks = {
        "tool": listener.tool("t", {}),
        "chat": listener.chat("m", []),
        "embedding": listener.embedding("m", 1),
    }
    with pytest.raises(ValueError, match="hunter2"):
        async with blocks[kind]:
            raise ValueError("password=hunter2")
    (run,) = recorder.of(kind)
    assert "password=[secret]" in str(run.error)
    assert run.ended == 1


@pytest.mark.parametrize("kind", ["tool", "chat", "embedding"])
async def test_a_cancelled_call_ends_its_run(listener, recorder, kind):
    """And stays cancelled."""
    blocks = {
        "tool": listener.tool("t", {}),
        "chat": listener.chat("m", []),
        "embedding": listener.embedding("m", 1),
    }

    inside = asyncio.Event()

    async def work():
        async with blocks[kind]:
            inside.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (run,) = recorder.of(kind)
    assert isinstance(run.error, asyncio.CancelledError)


async def test_a_chat_without_known_tokens_has_no_usage(listener, recorder):
    """A zero would be a claim."""
    async with listener.chat("m", [("system", "be brief"), ("human", "hi")]) as call:
        call.answered("hello", model="m-2026", input_tokens=None, output_tokens=None)
    (run,) = recorder.of("chat")
    message = run.output.generations[0][0].message
    assert (message.content, message.usage_metadata) == ("hello", None)
    assert run.output.llm_output == {"model_name": "m-2026"}
    assert [one.type for one in run.given[0]] == ["system", "human"]


async def test_objects_inside_a_tool_stand_below_it(listener, recorder):
    """And those beside it do not."""
    inner = RunnableLambda(lambda text: text, name="inner")
    async with listener.tool("web_search", {}):
        await inner.ainvoke("x")
    (tool,) = recorder.of("tool")
    (chain,) = recorder.of("chain")
    assert chain.parent_id == tool.id
    await inner.ainvoke("x")
    assert len(recorder.of("chain")) == 1


async def test_a_models_own_runs_are_not_heard_twice(listener, recorder):
    """Neither by the config's handlers, nor by one that lies in the context; afterwards they are."""
    model = ScriptedChatModel(replies=["hello"])
    with collect_runs() as collected:
        async with listener.chat("m", [("human", "hi")]) as call:
            await model.ainvoke("hi")
            call.answered("hello", model="m", input_tokens=1, output_tokens=1)
        assert len(recorder.of("chat")) == 1
        assert [run.name for run in collected.traced_runs] == ["m"]
        await model.ainvoke("hi")
    assert len(collected.traced_runs) == 2

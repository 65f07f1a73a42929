"""Queries without a model: variants that help, and the cleaning of a model's proposals."""

from __future__ import annotations

import pytest

from collection_search.planning.fallback import complete_queries, fallback_queries

QUESTION = "How do I cancel an asyncio task after a timeout?"


def fallback(question, purpose="collection_search", count=3):
    return fallback_queries(question, purpose=purpose, count=count)


def complete(proposed, question=QUESTION, purpose="collection_search", **bounds):
    return complete_queries(proposed, question, purpose=purpose, **bounds)


# Without a model


def test_a_question_becomes_itself_its_key_words_and_kinds_of_pages():
    """The first queries stay when more are asked for."""
    five = fallback(QUESTION, count=5)
    assert five == [
        QUESTION,
        "cancel asyncio task timeout",
        "cancel asyncio task timeout documentation",
        "cancel asyncio task timeout guide",
        "cancel asyncio task timeout examples",
    ]
    assert fallback(QUESTION) == five[:3]


def test_the_example_of_the_specification_gets_three_variants():
    """A kind of page that the question names already is not repeated."""
    assert fallback("TypeScript documentation") == [
        "TypeScript documentation",
        "TypeScript documentation guide",
        "TypeScript documentation examples",
    ]


def test_a_german_question_gets_german_variants():
    """Question words and kinds of pages follow the language of the question."""
    question = "Wie kann ich eine PostgreSQL-Datenbank sichern?"
    assert fallback(question, count=4) == [
        question,
        "PostgreSQL-Datenbank sichern",
        "PostgreSQL-Datenbank sichern Dokumentation",
        "PostgreSQL-Datenbank sichern Anleitung",
    ]


@pytest.mark.parametrize(
    ("purpose", "query"),
    [
        ("security_audit", "cancel asyncio task timeout security audit"),
        ("onboarding of the new team", "cancel asyncio task timeout onboarding new team"),
        ("test-run for compliance", "cancel asyncio task timeout compliance"),
    ],
)
def test_a_purpose_that_says_something_makes_a_query(purpose, query):
    """It is appended to the key words, without stop words and words of the machinery."""
    assert query in fallback(QUESTION, purpose)


@pytest.mark.parametrize("purpose", ["collection_search", "web-search", "test", "?", "der_die_das"])
def test_a_purpose_that_says_nothing_changes_nothing(purpose):
    """Names of the machinery carry no meaning for a search engine."""
    assert fallback(QUESTION, purpose, 5) == fallback(QUESTION, count=5)


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What is C++ used for?", "C++"),
        ("Why does asyncio.gather() hang?", "asyncio.gather() hang"),
        (
            "Where is the site:docs.python.org page about sockets?",
            "site:docs.python.org page sockets",
        ),
        ("What does “TypeError” mean in C#?", "TypeError mean C#"),
        ("TypeError: what about .NET and its sockets.", "TypeError .NET sockets"),
        ("How do I exclude -snake python pages?", "exclude -snake python pages"),
    ],
)
def test_key_words_stay_as_they_are_written(question, key):
    """Symbols of names, operators and excluded words keep their meaning."""
    assert fallback(question)[1] == key


@pytest.mark.parametrize("question", ["How to be?", "Who are you", "was ist das?"])
def test_a_question_of_stop_words_still_gives_queries(question):
    """Without any key word the question itself is varied."""
    queries = fallback(question)
    assert queries[0] == question
    assert len(queries) == 3


def test_a_long_question_is_cut_at_a_word():
    """Web engines take 400 characters and 50 words, the addition stays whole."""
    question = " ".join(f"configuration{n}" for n in range(100))
    first, key, documentation = fallback(question)
    assert first == " ".join(f"configuration{n}" for n in range(25))
    assert len(first) <= 400
    assert key == " ".join(f"configuration{n}" for n in range(12))
    assert documentation == f"{key} documentation"


def test_many_short_words_are_cut_at_fifty():
    """The limit of words counts on its own."""
    assert fallback("x " * 200)[0] == " ".join(["x"] * 50)


def test_a_long_question_of_stop_words_is_cut_before_the_addition():
    """Fifty words are the limit, the addition among them."""
    first, second, _ = fallback("how to be " * 40)
    assert len(first.split()) == 50
    assert len(second.split()) == 50
    assert second.endswith(" documentation")


def test_one_endless_word_is_cut_hard():
    """There is no word to cut at, yet the queries differ and end in their addition."""
    first, second, third = fallback("x" * 2000)
    assert first == "x" * 400
    assert second == "x" * 386 + " documentation"
    assert third == "x" * 394 + " guide"


# With a model's proposals


def test_enough_proposals_are_taken_as_they_are():
    """Three good queries need no help."""
    proposed = ["asyncio timeout", "asyncio cancel", "asyncio.timeout documentation"]
    assert complete(proposed) == proposed


def test_too_few_proposals_are_filled_up():
    """Our own queries follow the model's."""
    assert complete(["asyncio timeout"]) == ["asyncio timeout", *fallback(QUESTION)[:2]]
    assert complete([]) == fallback(QUESTION)
    assert len(complete(["asyncio timeout"], minimum=5)) == 5


def test_too_many_proposals_are_cut():
    """The model's first ones stay."""
    proposed = [f"asyncio {n}" for n in range(9)]
    assert complete(proposed) == proposed[:5]
    assert complete(proposed, maximum=3) == proposed[:3]


@pytest.mark.parametrize(
    ("proposal", "query"),
    [
        ("  asyncio\n timeout ", "asyncio timeout"),
        ("asyncio\u200b timeout", "asyncio timeout"),
        ("!g asyncio timeout", "asyncio timeout"),
        ("\u200b !g asyncio timeout", "asyncio timeout"),
        ("!! !ddg :de <3 asyncio timeout", "asyncio timeout"),
        (":en-US asyncio timeout", "asyncio timeout"),
        ("asyncio !g timeout", "asyncio !g timeout"),
        (":nth-child selector", ":nth-child selector"),
        ("<section> element", "<section> element"),
    ],
)
def test_a_proposal_is_cleaned(proposal, query):
    """White space, invisible characters and leading commands to an engine go, words stay."""
    assert complete([proposal])[0] == query


@pytest.mark.parametrize(
    "proposal", [None, 7, ["asyncio"], {"query": "x"}, b"bytes", "", "  ", "?!", "site:a.com", "!g"]
)
def test_an_unusable_proposal_is_dropped(proposal):
    """What is no query is replaced by one of ours."""
    assert complete([proposal, "asyncio timeout"]) == complete(["asyncio timeout"])


def test_a_repeated_proposal_counts_once():
    """Case and white space make no new query, also against our own."""
    queries = complete(["Asyncio  timeout", "asyncio Timeout", QUESTION.upper()])
    assert queries == ["Asyncio timeout", QUESTION.upper(), "cancel asyncio task timeout"]


def test_an_endless_proposal_is_cut():
    """A model that rambles does not break the engine's limits."""
    (query, *_) = complete(["asyncio timeout " * 100])
    assert len(query) <= 400
    assert len(query.split()) == 50 or len(query) > 380

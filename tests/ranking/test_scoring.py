"""How well a page answers a question."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from collection_search.errors import QualityThresholdError
from collection_search.ranking.heuristics import PageWords, measure_points
from collection_search.ranking.scoring import (
    DENSE,
    LEXICAL,
    Calibration,
    PageText,
    rank,
)
from collection_search.ranking.similarity import LexicalSimilarity
from collection_search.ranking.threshold import select_for_ingestion

DOCUMENTATION = """
asyncio-task | Coroutines and Tasks | asyncio.timeout() limits the time spent waiting: on timeout the running task is cancelled and TimeoutError is raised.
argparse | argparse: parser for command-line options | The argparse module makes it easy to write user-friendly command-line interfaces; it defines what arguments it requires and parses those out of sys.argv.
csv | csv: CSV file reading and writing | The csv module implements classes to read and write tabular data in CSV format.
tempfile | tempfile: generate temporary files and directories | This module creates temporary files and directories. It works on all supported platforms.
heapq | heapq: heap queue algorithm | This module provides an implementation of the heap queue algorithm, also known as the priority queue algorithm.
hashlib | hashlib: secure hashes and message digests | A common interface to many hash algorithms: SHA1, SHA224, SHA256, SHA384, SHA512 and MD5.
smtplib | smtplib: SMTP protocol client | The smtplib module defines an SMTP client session object that can be used to send mail to any internet machine.
json | json: JSON encoder and decoder | json.loads deserializes a string containing a JSON document to a Python object.
shutil | shutil: high-level file operations | Recursively copy an entire directory tree rooted at src to a directory named dst and return the destination directory.
logging | logging.handlers | RotatingFileHandler supports rotation of disk log files when the current log file is nearly maxBytes in length.
unittest | unittest.mock: mock object library | It allows you to replace parts of your system under test with mock objects and make assertions about their use.
decimal | decimal: decimal fixed-point and floating-point arithmetic | Provides support for fast correctly rounded decimal floating-point arithmetic.
"""
"""Address, title and snippet of documentation pages."""
PAGES = [
    PageText(title, snippet, f"https://docs.example/3/library/{name}.html")
    for name, title, snippet in (line.split(" | ") for line in DOCUMENTATION.strip().splitlines())
]
ANSWERED = {
    "How do I cancel an asyncio task after a timeout?": "asyncio-task",
    "parse command line arguments": "argparse",
    "How to read a CSV file?": "csv",
    "create a temporary directory": "tempfile",
    "priority queue": "heapq",
    "SHA256 of a file": "hashlib",
    "send mail with SMTP": "smtplib",
    "copy a directory tree": "shutil",
    "mock objects in tests": "unittest",
    "rounding of decimals": "decimal",
    "Wie breche ich eine asyncio Task nach einem Timeout ab?": "asyncio-task",
    "Wie lese ich CSV Dateien?": "csv",
}
UNANSWERED = [
    "What is the capital of Mongolia?",
    "best recipe for sourdough bread",
    "Wie hoch ist der Mount Everest?",
    "Who won the football world cup in 1990?",
    "symptoms of vitamin D deficiency",
    "Kubernetes ingress controller configuration",
    "Wie beantrage ich Elterngeld in Bayern?",
]


@pytest.mark.parametrize(("question", "name"), ANSWERED.items())
def test_documentation_is_found(question, name):
    """Of twelve documentation pages the right one comes first, good enough to ingest."""
    best = rank(question, PAGES)[0]
    assert PAGES[best.index].url.endswith(f"/{name}.html")
    assert best.embedding_rank_score >= 50


@pytest.mark.parametrize("question", UNANSWERED)
def test_off_topic_pages_are_refused(question):
    """The same pages do not pass for questions that they do not answer."""
    scores = [each.embedding_rank_score for each in rank(question, PAGES)]
    assert max(scores) < 50
    with pytest.raises(QualityThresholdError):
        select_for_ingestion(scores, min_score=60, top_k=10)


@pytest.mark.parametrize("question", ANSWERED)
def test_score_means_the_same_in_small_and_large_pools(question):
    """A page keeps its score, within a few points, when other pages come or go."""
    whole = {each.index: each.embedding_rank_score for each in rank(question, PAGES)}
    alone = [rank(question, [page])[0].embedding_rank_score for page in PAGES]
    assert [whole[i] for i in range(len(PAGES))] == pytest.approx(alone, abs=10)


def test_default_without_a_model():
    """The score is 0.6 of the calibrated similarity and 0.4 of title and coverage."""
    question = "How to read a CSV file?"
    cosines = LexicalSimilarity().similarities(question, [f"{p.title} {p.snippet}" for p in PAGES])
    for each in rank(question, PAGES):
        cosine = cosines[each.index]
        page = PAGES[each.index]
        heuristic = measure_points(question, [page], [PageWords.of(page)])[0].relevance
        expected = 60 * LEXICAL.probability(0.0, cosine) + 0.4 * heuristic
        assert each.embedding_rank_score == pytest.approx(expected, abs=0.01)
        assert each.embedding_similarity == pytest.approx(cosine, abs=1e-4)
        assert each.heuristic_score == pytest.approx(heuristic, abs=0.01)


def test_default_with_a_model():
    """A model's similarity counts on its own scale, that of the words beside it."""
    page = PageText(
        "Interrupting work", "Stop a coroutine when it takes too long.", "https://a.example"
    )
    scores = [
        rank("cancel a task", [page], similarities=[cosine])[0].embedding_rank_score
        for cosine in (-1.0, 0.0, 0.3, 0.6, 1.0)
    ]
    assert scores == sorted(scores)
    assert scores[0] < 10
    assert scores[-1] > 40


def test_models_are_placed_by_their_medians():
    """Two models that differ by their scale alone give the same scores."""
    shifted = Calibration(
        "dense",
        similarity=DENSE.similarity,
        wording=DENSE.wording,
        constant=DENSE.constant,
        unrelated=0.7 + 0.2 * DENSE.unrelated,
        related=0.7 + 0.2 * DENSE.related,
    )
    cosines = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.1, 0.2, 0.3, 0.4, 0.5]
    high = [0.7 + 0.2 * cosine for cosine in cosines]
    one = rank("read CSV", PAGES, similarities=cosines)
    other = rank("read CSV", PAGES, similarities=high, calibration=shifted)
    assert [(each.index, each.embedding_rank_score) for each in one] == [
        (each.index, each.embedding_rank_score) for each in other
    ]


def test_literal_profile_is_the_raw_arithmetic():
    """0.6 * cosine * 100 + 0.4 * (title + snippet + coverage + address), nothing else."""
    page = PageText("CSV files", "Read CSV. " * 10, "https://a.example/tag/csv")
    (scored,) = rank("read CSV files", [page], similarities=[0.5], profile="literal")
    assert scored.heuristic_score == pytest.approx(30 * 2 / 3 + 25 + 20 - 5)
    assert scored.embedding_rank_score == pytest.approx(30 + 0.4 * scored.heuristic_score, abs=0.01)
    assert scored.explanation["scale"] == "literal"


def test_literal_profile_tops_out_at_ninety():
    """The literal parts sum to 75, so that even a perfect page scores 90."""
    page = PageText("Read CSV files", "Read CSV files. " * 10, "https://a.example/csv")
    (scored,) = rank("read CSV files", [page], similarities=[1.0], profile="literal")
    assert (scored.heuristic_score, scored.embedding_rank_score) == (75.0, 90.0)


def test_words_take_the_place_of_a_scale_that_is_not_known():
    """The model's similarities are told, but the score is that of the words."""
    cosines = np.linspace(0.9, 0.1, len(PAGES))
    words = rank("How to read a CSV file?", PAGES)
    lost = rank(
        "How to read a CSV file?", PAGES, similarities=cosines, calibration=LEXICAL, model="m:2"
    )
    assert [(each.index, each.embedding_rank_score) for each in lost] == [
        (each.index, each.embedding_rank_score) for each in words
    ]
    assert lost[0].embedding_similarity == pytest.approx(cosines[lost[0].index], abs=1e-4)
    assert lost[0].explanation["scale"] == "lexical"
    assert "scale of the model is not known" in lost[0].explanation["meaning"]


def test_a_page_in_other_words_needs_a_model():
    """Only where it lies much nearer than most answers it reaches 50 without sharing a word."""
    page = PageText("Unterbrechung", "So wird ein Vorgang beendet.", "https://a.example")
    near, far = (
        rank("cancel a task", [page], similarities=[cosine])[0].embedding_rank_score
        for cosine in (2 * DENSE.related - DENSE.unrelated, DENSE.related)
    )
    assert far < 40
    assert 50 <= near < 60


@pytest.mark.parametrize("profile", ["default", "literal"])
def test_failed_similarity_counts_zero(profile):
    """A page that could not be embedded is judged by its heuristics alone."""
    page = PageText("Read CSV", "Read CSV.", "https://a.example/csv")
    for failed in (math.nan, math.inf, -math.inf):
        (scored,) = rank("read CSV", [page], similarities=[failed], profile=profile)
        assert scored.embedding_similarity == 0
        assert scored.explanation["embedding_score"] == 0
        assert scored.explanation["meaning"].startswith("the page could not be embedded")
        assert scored.embedding_rank_score == pytest.approx(0.4 * scored.heuristic_score)


def test_ties_are_ordered_by_address():
    """Pages of equal score come in the order of their addresses."""
    pages = [PageText("Task", "A task.", f"https://a.example/{name}") for name in "cab"]
    assert [each.index for each in rank("task", pages)] == [1, 2, 0]


def test_limit():
    """At most `limit` pages are returned: the best ones, 20 by default."""
    pages = [PageText("Task", "word " * i, f"https://a.example/{i:02}") for i in range(30)]
    everything = rank("task", pages, limit=30)
    assert rank("task", pages, limit=3) == everything[:3]
    assert len(rank("task", pages)) == 20


@pytest.mark.parametrize("question", ["", "the of and", "\U0001f600", "task", "!?", "\x00"])
@pytest.mark.parametrize(
    "pages",
    [
        [],
        [PageText("", "", "")],
        [PageText("Task", "Same text.", "https://a.example/1")] * 3,
        [PageText("\U0001f600", "\ud800", "https://[broken"), PageText("Task", "", "x")],
    ],
)
@pytest.mark.parametrize("profile", ["default", "literal"])
def test_odd_input_is_scored(question, pages, profile):
    """Empty, identical, wordless and broken input is ranked within bounds."""
    scored = rank(question, pages, profile=profile)
    assert len(scored) == len(pages)
    assert all(0 <= each.embedding_rank_score <= 100 for each in scored)


def test_wrong_number_of_similarities():
    """Similarities that do not belong to the pages are refused."""
    with pytest.raises(ValueError, match="1 similarities for 12 pages"):
        rank("task", PAGES, similarities=[0.5])


@pytest.mark.parametrize("similarities", [None, np.linspace(-1, 1, 12, dtype=np.float32)])
def test_explanation_is_plain_json(similarities):
    """Every value of a result can be written as JSON, the explanation says what the score means."""
    for each in rank("How to read a CSV file?", PAGES, similarities=similarities):
        plain = json.loads(json.dumps([each.embedding_similarity, each.explanation]))
        assert plain == [each.embedding_similarity, each.explanation]
        assert each.explanation["scale"] == ("lexical" if similarities is None else "dense")
        assert each.explanation["meaning"]


def test_explanation_names_the_model_and_where_its_scale_lies():
    """With a model its name and medians; by words neither."""
    (dense,) = rank("task", PAGES[:1], similarities=[0.5], model="m:2", calibration=DENSE)
    named = {key: dense.explanation[key] for key in ("scale", "model", "unrelated", "related")}
    assert named == {"scale": "dense", "model": "m:2", "unrelated": 0.14, "related": 0.6}
    (literal,) = rank("task", PAGES[:1], similarities=[0.5], model="m:2", profile="literal")
    assert (literal.explanation["scale"], literal.explanation["model"]) == ("literal", "m:2")
    (words,) = rank("task", PAGES[:1])
    assert words.explanation["model"] is None
    assert "unrelated" not in {*literal.explanation, *words.explanation}

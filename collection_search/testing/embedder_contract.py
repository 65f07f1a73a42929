"""Contract suite for embedders: subclass it, and pytest runs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import numpy as np

from ..contracts.collection import Embedded
from ..errors import ModelError
from ..ports import Embedder

if TYPE_CHECKING:
    from ..contracts.collection import Vectors

TEXTS: Final = [
    "How do I cancel an asyncio task?",
    "Eine Aufgabe läßt sich abbrechen: 取消任务 🚀",
    "cancel",
    "pandas reads a CSV file\nline by line",
]
_SAME: Final = 1e-4
"""Models round differently, depending on the other texts of the batch."""


class EmbedderContract:
    """Unit vectors in order, whatever the texts; equal fingerprints for equal models.

    ```python
    class TestMyEmbedder(EmbedderContract):
        def embedder(self):
            return MyEmbedder()
    ```
    """

    def embedder(self) -> Embedder:
        """Return a fresh embedder that works."""
        raise NotImplementedError

    def broken(self) -> Embedder | None:
        """Return an embedder whose calls fail, or None where there is none."""
        return None

    def test_it_has_the_form_of_an_embedder(self) -> None:
        """Two embedders of one model have the same printable fingerprint, which is no path."""
        one, other = self.embedder(), self.embedder()
        assert isinstance(one, Embedder)
        assert one.fingerprint == other.fingerprint
        assert one.fingerprint.strip() == one.fingerprint != ""
        assert one.fingerprint.isprintable()
        assert not one.fingerprint.partition(":")[2].startswith(("/", "~", "."))
        assert "\\" not in one.fingerprint

    def test_vectors_have_unit_length(self) -> None:
        """One float32 row per text, finite, of length one, and all of one dimension."""
        embedded = asyncio.run(self.embedder().embed(TEXTS))
        assert isinstance(embedded, Embedded)
        vectors = embedded.vectors
        assert isinstance(vectors, np.ndarray)
        assert vectors.dtype == np.float32
        assert vectors.ndim == 2  # noqa: PLR2004 - rows and columns
        assert len(vectors) == len(TEXTS)
        assert vectors.shape[1] > 0
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=_SAME)
        assert embedded.input_tokens is None or embedded.input_tokens > 0

    def test_rows_follow_the_texts(self) -> None:
        """A text's vector depends on the text alone, not on its place or the other texts."""
        vectors = self._vectors(TEXTS)
        assert np.allclose(self._vectors(TEXTS[::-1])[::-1], vectors, atol=_SAME)
        assert np.allclose(self._vectors([TEXTS[2]])[0], vectors[2], atol=_SAME)
        assert not np.allclose(vectors[0], vectors[3], atol=_SAME)

    def test_any_text_has_a_vector(self) -> None:
        """Empty, blank and very long texts and broken Unicode are embedded."""
        odd = ["", " \n", "word " * 20_000, "half \ud800 a character", "\x00", "🚀"]
        vectors = self._vectors(odd)
        assert len(vectors) == len(odd)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=_SAME)

    def test_many_texts_keep_their_order(self) -> None:
        """Many texts have the right vectors, however the embedder divides them."""
        many = [TEXTS[n % len(TEXTS)] for n in range(70)]
        vectors = self._vectors(many)
        assert len(vectors) == len(many)
        assert np.allclose(vectors[:4], vectors[64:68], atol=_SAME)

    def test_no_text_is_no_error(self) -> None:
        """No text gives no row."""
        assert len(self._vectors([])) == 0

    def test_calls_may_overlap(self) -> None:
        """Calls work at the same time in one event loop, and in one loop after another."""
        embedder = self.embedder()

        async def at_once() -> list[Embedded]:
            return await asyncio.gather(*(embedder.embed([text]) for text in TEXTS * 3))

        vectors = self._vectors(TEXTS)
        for _ in range(2):
            rows = np.concatenate([each.vectors for each in asyncio.run(at_once())])
            assert np.allclose(rows, np.concatenate([vectors] * 3), atol=_SAME)

    def test_a_failure_is_a_model_error(self) -> None:
        """The error names the model and has a cause or a reason."""
        embedder = self.broken()
        if embedder is None:
            return
        try:
            asyncio.run(embedder.embed(TEXTS))
        except ModelError as error:
            assert str(error).strip()  # noqa: PT017 - the suite needs no pytest
        else:
            raise AssertionError("a broken embedder must raise ModelError")

    def _vectors(self, texts: list[str]) -> Vectors:
        return asyncio.run(self.embedder().embed(texts)).vectors

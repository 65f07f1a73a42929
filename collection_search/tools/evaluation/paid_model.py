"""The vectors of an evaluation, in the books and within its ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CostLimitReached
from ..spending.paid_embedder import PaidEmbedder
from ..spending.run_spendings import open_account
from .evaluation import measure_embedder

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...ports import Embedder
    from .evaluation import Model
    from .pools import EvalCorpus, EvalProgress


async def pay_for_model(
    corpus: EvalCorpus,
    embedder: Embedder,
    context: SearchContext,
    *,
    progress: EvalProgress | None = None,
) -> Model:
    """Return what `measure_embedder` does, paid by a run of its own.

    Raises ModelError, and CostLimitReached at the context's ceiling; what was paid until then stays
    in the books, and the vectors are not kept.
    """
    account = await open_account(context, context.ids(), is_new=context.run_id is None)
    paid = PaidEmbedder(embedder, account)
    folder = context.using().home
    try:
        return await measure_embedder(corpus, paid, folder=folder, progress=progress)
    except CostLimitReached as error:
        raise CostLimitReached(
            f"{error} What the evaluation has cost until then is in the books: see"
            " 'collection-search costs'."
        ) from error
    finally:
        await account.close()

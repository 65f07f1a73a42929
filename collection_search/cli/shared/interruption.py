"""What an interrupted command leaves behind, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED: Final = "Interrupted."
NOT_BEGUN: Final = "Interrupted before the search began. Nothing was searched or stored."
PAID: Final = "Interrupted. Nothing was stored; 'collection-search costs' tells what was paid."
ACCEPTED: Final = (
    "Interrupted. Nothing is lost: what was accepted, if anything, waits in the ledger, and"
    " 'collection-search worker' goes on with it."
)
UNCHANGED: Final = "Interrupted. Nothing was changed."
RESUMABLE: Final = "Interrupted. What was copied stays; repeat the command to go on."

_OUTCOMES: Final = {
    **dict.fromkeys(("ask", "eval", "search"), PAID),
    **dict.fromkeys(("costs", "decisions", "doctor", "page"), UNCHANGED),
    "migrate": RESUMABLE,
}
"""By sub-command; the others tell it themselves where there is something to tell."""


def explain_interrupt(arguments: Sequence[str]) -> str:
    """Return what is left of the sub-command of these arguments, when it is interrupted.

    >>> explain_interrupt(["doctor"]), explain_interrupt(["worker"])
    ('Interrupted. Nothing was changed.', 'Interrupted.')
    """
    return _OUTCOMES.get(arguments[0] if arguments else "", INTERRUPTED)

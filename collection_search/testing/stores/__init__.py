"""Contract suites for pytest: staging, ledger, collections, gates and usage of a store."""

from .collections import CollectionStoreContract
from .gates import GateStoreContract
from .ledger import LedgerContract
from .staging import StagingContract
from .usage import UsageContract

__all__ = [
    "CollectionStoreContract",
    "GateStoreContract",
    "LedgerContract",
    "StagingContract",
    "UsageContract",
]

"""Contract suites for pytest: all parts of a store and its usage."""

from .collections import CollectionStoreContract
from .comparisons import ComparisonStoreContract
from .gates import GateStoreContract
from .ledger import LedgerContract
from .staging import StagingContract
from .usage import UsageContract

__all__ = [
    "CollectionStoreContract",
    "ComparisonStoreContract",
    "GateStoreContract",
    "LedgerContract",
    "StagingContract",
    "UsageContract",
]

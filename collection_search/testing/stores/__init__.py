"""Contract suites for pytest: what staging, ledger and collections of every store have to do."""

from .collections import CollectionStoreContract
from .ledger import LedgerContract
from .staging import StagingContract
from .usage import UsageContract

__all__ = ["CollectionStoreContract", "LedgerContract", "StagingContract", "UsageContract"]

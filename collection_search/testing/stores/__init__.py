"""Contract suites for pytest: staging, ledger, collections and usage of a store."""

from .collections import CollectionStoreContract
from .ledger import LedgerContract
from .staging import StagingContract
from .usage import UsageContract

__all__ = ["CollectionStoreContract", "LedgerContract", "StagingContract", "UsageContract"]

"""What keeps one failing, slow or metered provider from hurting a run, a bill or its neighbours.

State machines without I/O, safe to share between threads; time is injected. `ProviderGuard` joins
them, and `guard_of` keeps one per provider and key for the whole process.
"""

from .guard import Permit, ProviderGuard, Quota
from .single_flight import SingleFlight
from .table import guard_of, key_id

__all__ = ["Permit", "ProviderGuard", "Quota", "SingleFlight", "guard_of", "key_id"]

"""What keeps one failing, slow or metered provider from hurting a run, a bill or its neighbours.

State machines without I/O, safe to share between threads; time is injected. `ProviderGuard` joins
them, and `guard_of` keeps one per provider and key for the whole process.
"""

from .process_guards import guard_of, key_id
from .provider_limits import Permit, ProviderGuard
from .quota import Quota
from .single_flight import SingleFlight

__all__ = ["Permit", "ProviderGuard", "Quota", "SingleFlight", "guard_of", "key_id"]

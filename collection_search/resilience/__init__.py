"""Limits of providers: rate limit, cooldown, quota, circuit breaker and retry budget.

State machines without I/O, safe for threads; time is injected. `ProviderGuard` combines them, and
`guard_of` returns the process's one guard per provider and key.
"""

from .process_guards import guard_of
from .provider_limits import Permit, ProviderGuard
from .quota import Quota
from .single_flight import SingleFlight

__all__ = ["Permit", "ProviderGuard", "Quota", "SingleFlight", "guard_of"]

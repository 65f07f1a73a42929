"""No example has a deadline: a busy machine would exceed it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("without a deadline", parent=settings.default, deadline=None)
settings.load_profile("without a deadline")

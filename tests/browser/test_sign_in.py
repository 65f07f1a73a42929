"""Tokens and roles: who may come in, and what each sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from conftest import HOSTS, Host, running
from playwright.sync_api import expect
from support.command_line import run_command
from support.page_api import PageApi
from support.page_steps import HERONS, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page
    from support.page_world import PageWorld

pytestmark = pytest.mark.browser

ROLES = ("viewer", "reviewer", "admin")


class Guarded(NamedTuple):
    """An app that asks for tokens, and a token of each role."""

    host: Host
    tokens: dict[str, str]

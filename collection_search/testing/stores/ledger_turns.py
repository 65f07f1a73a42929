"""Contract suite for ledgers in which tenants, collections and hosts take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.collection import TenantScope
from ...contracts.ingestion import IngestionItem, IngestionRequest, Priority
from .ledger_fetching import FetchingContract
from .suite import LEASE_S, MINE, THEIRS

if TYPE_CHECKING:
    from pathlib import Path

    from ...contracts.ingestion import Claim, Ticket


class TurnsContract(FetchingContract):
    """Tests of the order in which rows are taken."""

    def _ask(
        self,
        *addresses: str,
        scope: TenantScope = MINE,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Ticket:
        """Enqueue pages of these hosts and paths."""
        pages = [IngestionItem(f"https://{one}", one, "") for one in addresses]
        return self.store.ledger.enqueue(IngestionRequest(scope, pages, priority=priority))

    def _taken(self, count: int) -> list[Claim]:
        """Take rows and finish each of them."""
        claims = []
        for _ in range(count):
            claims.append(self._take())
            assert self._store(claims[-1], f"text of {claims[-1].url}")
        return claims

    def _keys(self, count: int) -> list[str]:
        return [claim.url_key for claim in self._taken(count)]

    def _owners(self, count: int) -> list[TenantScope]:
        return [claim.scope for claim in self._taken(count)]

    def test_tenants_take_turns(self) -> None:
        """Who comes later is next, however many pages of others wait on the same host."""
        self._ask(*(f"one.example/{n}" for n in range(9)))
        assert self._owners(2) == [MINE, MINE]
        self._ask("one.example/1", "one.example/2", scope=THEIRS)
        assert self._owners(5) == [THEIRS, MINE, THEIRS, MINE, MINE]

    def test_staged_texts_take_turns(self) -> None:
        """A worker that does not fetch serves every tenant, too."""
        self._enqueue("a", "b", "c")
        self._enqueue("a", scope=THEIRS)
        assert [self._claim().scope for _ in range(3)] == [MINE, THEIRS, MINE]

    def test_collections_give_a_tenant_no_further_turns(self) -> None:
        """Neither many collections nor a new one for each page."""
        mine = [TenantScope(MINE.tenant_id, name) for name in ("a", "b", "c", "d")]
        for scope in mine[:3]:
            self._ask("one.example/1", "one.example/2", scope=scope)
        self._ask("one.example/1", "one.example/2", "one.example/3", scope=THEIRS)
        assert self._owners(4) == [mine[0], THEIRS, mine[1], THEIRS]
        self._ask("one.example/1", scope=mine[3])
        assert self._owners(5) == [mine[2], THEIRS, mine[3], mine[0], mine[1]]

    def test_hosts_take_turns(self) -> None:
        """The pages of a collection come from one host after the other."""
        self._ask(*(f"{host}.example/{n}" for host in ("b", "a", "c") for n in range(2)))
        self._ask("c.example/2", "c.example/3")
        found = [key.partition(".")[0] for key in self._keys(8)]
        assert found == ["a", "b", "c", "a", "b", "c", "c", "c"]

    def test_a_new_host_waits_for_one_round(self) -> None:
        """The number of pages of the others does not matter."""
        self._ask(*(f"{host}.example/{n}" for host in "bcd" for n in range(5)))
        self._keys(4)
        self._ask("a.example/0")
        assert "a.example/0" in self._keys(3)

    def test_nobody_loses_a_turn_over_a_busy_host(self) -> None:
        """Whose host is busy is passed over, and is next when it is free."""
        self._ask(*(f"one.example/{n}" for n in range(4)))
        self._ask(*(f"two.example/{n}" for n in range(6)), scope=THEIRS)
        for _ in range(3):
            claim = self._take(busy_hosts=["one.example"])
            assert claim.scope == THEIRS
            assert self._store(claim, f"text of {claim.url}")
        assert self._owners(2) == [MINE, THEIRS]

    def test_two_pages_of_a_host_are_fetched_for_all_tenants_together(self) -> None:
        """A third one waits, whoever asks for it."""
        self._ask("one.example/1", "one.example/2", "two.example/1")
        self._ask("one.example/1", scope=THEIRS)
        claims = [self._take(), self._take(), self._take()]
        hosts = [claim.url_key.partition("/")[0] for claim in claims]
        assert sorted(hosts) == ["one.example", "one.example", "two.example"]
        assert self.store.ledger.claim("w", lease_s=LEASE_S, fetch=True) is None

    def test_what_waited_for_its_time_comes_before_fresh_pages(self) -> None:
        """A page that failed or was postponed does not wait for all pages of its host."""
        self._ask(*(f"one.example/{n}" for n in range(6)))
        failed, postponed = self._take(), self._take()
        self.store.ledger.fail(failed, "no answer", retry_in_s=10)
        self.store.ledger.postpone(postponed, 5, "later")
        assert self._keys(1) == ["one.example/2"]
        self.clock.advance(11)
        assert self._keys(3) == ["one.example/1", "one.example/0", "one.example/3"]

    def test_a_failed_page_holds_up_no_other_host(self) -> None:
        """Its retries take the turns of its own host."""
        self._ask("one.example/bad", "one.example/good", "two.example/1", "two.example/2")
        bad = self._take()
        self.store.ledger.fail(bad, "no answer", retry_in_s=1)
        self.clock.advance(2)
        assert self._keys(2) == ["two.example/1", "one.example/bad"]

    def test_a_refresh_waits_for_what_somebody_asked_for(self) -> None:
        """Rows of a better priority come first, of all tenants."""
        self._ask("one.example/1", "one.example/2")
        self._taken(2)
        self.store.ledger.refetch(MINE)
        self._ask("two.example/1", "two.example/2", scope=THEIRS)
        assert self._owners(4) == [THEIRS, THEIRS, MINE, MINE]
        self.store.ledger.refetch(MINE, priority=Priority.INTERACTIVE)
        self._ask("two.example/3", "two.example/4", scope=THEIRS, priority=Priority.REFRESH)
        assert self._owners(4) == [MINE, MINE, THEIRS, THEIRS]

    def test_asking_for_a_page_lets_it_come_sooner(self) -> None:
        """A refresh that waits already never makes it come later."""
        self._ask("one.example/1", "one.example/2", "one.example/3")
        self._taken(3)
        self.store.ledger.refetch(MINE)
        self._ask("one.example/2")
        self.store.ledger.refetch(MINE)
        assert self._keys(3) == ["one.example/2", "one.example/1", "one.example/3"]

    def test_retried_dead_letters_were_asked_for(self) -> None:
        """They come before a refresh, even if a refresh gave them up."""
        self._ask("one.example/1", "one.example/2")
        self._taken(2)
        self.store.ledger.refetch(MINE)
        self.store.ledger.fail(self._take(), "no answer", retry_in_s=None)
        self._ask("two.example/1", scope=THEIRS, priority=Priority.REFRESH)
        assert self.store.ledger.retry_failed(MINE) == 1
        assert self._keys(1) == ["one.example/1"]

    def test_turns_are_known_to_all_processes(self, tmp_path: Path) -> None:
        """Another process goes on where this one stopped."""
        self._ask("one.example/1", "one.example/2")
        self._ask("two.example/1", "two.example/2", scope=THEIRS)
        assert self._owners(1) == [MINE]
        other = self._reopened(tmp_path)
        claim = other.ledger.claim("other", lease_s=LEASE_S, fetch=True)
        other.close()
        assert claim is not None
        assert claim.scope == THEIRS
        assert self._owners(1) == [MINE]

    def test_rows_that_are_due_are_counted(self) -> None:
        """By their priority, up to a limit; claimed rows and those for later are not due."""
        self._ask("a.example/1", "a.example/2", "a.example/3")
        self._ask("b.example/1", priority=Priority.REFRESH)
        due = self.store.ledger.due
        assert due(limit=9) == {Priority.INTERACTIVE: 3, Priority.REFRESH: 1}
        assert due(limit=2) == {Priority.INTERACTIVE: 2, Priority.REFRESH: 1}
        self._take()
        self.store.ledger.postpone(self._take(), 60, "later")
        assert due(limit=9) == {Priority.INTERACTIVE: 1, Priority.REFRESH: 1}

    def test_a_claim_can_leave_a_priority_to_others(self) -> None:
        """A worker for those who wait does not begin with refreshes."""
        self._ask("a.example/1", priority=Priority.REFRESH)
        claim, urgent = self.store.ledger.claim, Priority.INTERACTIVE
        assert claim("worker", lease_s=LEASE_S, fetch=True, up_to=urgent) is None
        assert claim("worker", lease_s=LEASE_S, fetch=True) is not None

    def test_a_row_is_taken_over_from_its_owner(self) -> None:
        """Before its lease runs out, and before rows whose turn it is."""
        self._ask("a.example/1", "b.example/1", "c.example/1")
        claim = self.store.ledger.claim
        first = claim("first", lease_s=LEASE_S, fetch=True)
        assert first is not None
        again = claim("second", lease_s=LEASE_S, fetch=True, instead_of=lambda one: one == "first")
        assert again is not None
        assert (again.row_id, again.attempts) == (first.row_id, first.attempts + 1)
        assert not self.store.ledger.renew(first, lease_s=LEASE_S)
        other = claim("third", lease_s=LEASE_S, fetch=True, instead_of=lambda one: one == "first")
        assert other is not None
        assert other.row_id != first.row_id

    def test_a_row_that_cannot_be_taken_over_hides_no_other(self) -> None:
        """Nor does its owner lose it: another worker may be able to take it."""
        self._ask("a.example/1", "b.example/1")
        claim = self.store.ledger.claim
        held = [claim("first", lease_s=LEASE_S, fetch=True) for _ in range(2)]
        of_a, of_b = [one for one in held if one is not None]
        taken = claim(
            "second",
            lease_s=LEASE_S,
            fetch=True,
            busy_hosts=["a.example"],
            instead_of=lambda one: one == "first",
        )
        assert taken is not None
        assert taken.row_id == of_b.row_id
        assert self.store.ledger.renew(of_a, lease_s=LEASE_S)

    def test_one_process_sweeps(self) -> None:
        """Inside the block it is told so; afterwards another one may."""
        for _ in range(2):
            with self.store.ledger.sweeping() as is_ours:
                assert is_ours

"""The corpus as a whole: built when needed, by one at a time, never broken, folders kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.corpus.corpus import OLD_S, Corpus, python_source
from collection_search.adapters.corpus.entry import CorpusPage, CorpusSource, KeyedReader
from collection_search.errors import ConfigError, InputError, StoreError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = CorpusPage("https://a.org/tasks", "Tasks", "A task can be cancelled.")
QUEUES = CorpusPage("https://a.org/queues", "Queues", "A queue hands items on.")
MANY = [
    CorpusPage(f"https://a.org/{n}", f"Page {n}", f"A list of {n} tasks. " * n + "A task waits.")
    for n in range(12)
]


STUCK_BUILD = """
import sys, time
from pathlib import Path
from collection_search.adapters.corpus.corpus import Corpus
from collection_search.adapters.corpus.entry import CorpusPage, CorpusSource
from collection_search.settings import Settings

def stuck():
    print("building", flush=True)
    time.sleep(60)

first = CorpusPage("https://a.org/first", "First", "Some words.")
Corpus(Settings(home=Path(sys.argv[1])), CorpusSource("1", lambda: [lambda: first, stuck])).prepare()
"""
"""A program that stops in the middle of building."""


class Shelf:
    """A source that counts how often it is read."""

    def __init__(self, *pages: CorpusPage, fingerprint: str = "1", pause_s: float = 0) -> None:
        self.reads = 0
        self.pause_s = pause_s
        self.pages = pages
        self.fingerprint = fingerprint

    def source(self) -> CorpusSource:
        return CorpusSource(self.fingerprint, self._readers)

    def _readers(self) -> list[Callable[[], CorpusPage | None]]:
        self.reads += 1
        time.sleep(self.pause_s)
        return [lambda page=page: page for page in self.pages]  # type: ignore[misc]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with one note."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "soup.md").write_text("# Soup\n\nPotatoes and onions.")
    return tmp_path / "notes"


def found(corpus: Corpus, question: str) -> list[str]:
    return [hit.title for hit in corpus.search(question, 10)]


def test_the_first_search_builds_the_index(settings: Settings) -> None:
    """No preparation is needed, and the next process finds the index ready."""
    shelf = Shelf(TASKS, QUEUES)
    assert found(Corpus(settings, shelf.source()), "cancel a task") == ["Tasks"]
    assert found(Corpus(settings, shelf.source()), "queue") == ["Queues"]
    assert shelf.reads == 1


def test_a_change_of_the_source_rebuilds_it(settings: Settings) -> None:
    """When packages change, their pages do."""
    assert found(Corpus(settings, Shelf(TASKS).source()), "queue") == []
    newer = Shelf(QUEUES, fingerprint="2")
    assert found(Corpus(settings, newer.source()), "queue") == ["Queues"]
    assert found(Corpus(settings, newer.source()), "task") == []


def test_progress_counts_the_pages(settings: Settings) -> None:
    """Building tells each page once; a fresh index tells nothing."""
    corpus, told = Corpus(settings, Shelf(TASKS, QUEUES).source()), []
    corpus.prepare(lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    corpus.prepare(lambda done, total: told.append((done, total)))
    assert len(told) == 2


class TestUnrelatedChanges:
    """What has not changed is not read again."""

    def test_only_new_pages_are_read(self, settings: Settings) -> None:
        """The kept ones are found as before; those of a package that has gone are not."""
        reads: list[str] = []

        def source(fingerprint: str, *pages: CorpusPage) -> CorpusSource:
            def reader(page: CorpusPage) -> KeyedReader:
                return KeyedReader(page.title, lambda: reads.append(page.title) or page)

            return CorpusSource(fingerprint, lambda: [*map(reader, pages)])

        Corpus(settings, source("1", TASKS, QUEUES)).prepare()
        lists = CorpusPage("https://a.org/lists", "Lists", "A list of a task.")
        changed = Corpus(settings, source("2", TASKS, lists))
        told: list[tuple[int, int]] = []
        changed.prepare(lambda done, total: told.append((done, total)))
        assert reads == ["Tasks", "Queues", "Lists"]
        assert told == [(1, 1)]
        assert found(changed, "queue") == []
        assert sorted(found(changed, "task")) == ["Lists", "Tasks"]

    def test_a_page_that_was_left_out_comes_when_its_address_is_free(
        self, settings: Settings
    ) -> None:
        """Two packages may name one address; each order of installations gives the same index."""
        other = CorpusPage(TASKS.url, "Other tasks", "A task of another package.")
        first, second = KeyedReader("first", lambda: TASKS), KeyedReader("second", lambda: other)
        for fingerprint, readers, title in (
            ("1", [first, second], "Tasks"),
            ("2", [second], "Other tasks"),
            ("3", [first, second], "Tasks"),
        ):
            corpus = Corpus(settings, CorpusSource(fingerprint, lambda readers=readers: readers))
            assert found(corpus, "task") == [title]

    def test_scores_do_not_depend_on_the_way(self, settings: Settings, tmp_path: Path) -> None:
        """A removed page leaves no trace in the weights of words."""
        readers = {page.title: KeyedReader(page.title, lambda page=page: page) for page in MANY}
        kept = [*readers.values()][::2]
        Corpus(settings, CorpusSource("1", lambda: [*readers.values()])).prepare()
        updated = Corpus(settings, CorpusSource("2", lambda: kept))
        fresh = Corpus(Settings(home=tmp_path / "fresh"), CorpusSource("2", lambda: kept))
        for question in ("task", "list of tasks 4", "queue"):
            ours, theirs = (
                {hit.url: pytest.approx(hit.score) for hit in corpus.search(question, 30)}
                for corpus in (updated, fresh)
            )
            assert ours == theirs


def test_a_page_that_cannot_be_read_costs_only_itself(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken package is named in the log; the rest is searched."""

    def broken() -> CorpusPage:
        raise RuntimeError("odd package")

    source = CorpusSource("1", lambda: [broken, lambda: None, lambda: TASKS])
    assert found(Corpus(settings, source), "task") == ["Tasks"]
    assert "odd package" in caplog.text


class TestDamage:
    """Whatever happens to the index file, the next search works."""

    @pytest.mark.parametrize("content", [b"", b"nonsense", b"SQLite format 3\0" + b"\xff" * 9000])
    def test_a_damaged_index_is_rebuilt(self, settings: Settings, content: bytes) -> None:
        """A new process sees the damage before it searches."""
        shelf = Shelf(TASKS)
        Corpus(settings, shelf.source()).prepare()
        settings.corpus_path.write_bytes(content)
        assert found(Corpus(settings, shelf.source()), "task") == ["Tasks"]

    @pytest.mark.parametrize("damage", ["removed", "overwritten"])
    def test_damage_during_use_is_repaired(
        self, settings: Settings, damage: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A process that has searched before notices, says so and builds anew."""
        corpus = Corpus(settings, Shelf(TASKS).source())
        corpus.prepare()
        if damage == "removed":
            settings.corpus_path.unlink()
        else:
            settings.corpus_path.write_bytes(b"\0" * 20_000)
        assert found(corpus, "task") == ["Tasks"]
        assert "built anew" in caplog.text

    @pytest.mark.slow
    def test_a_killed_build_leaves_nothing_broken(self, settings: Settings) -> None:
        """After SIGKILL in the middle of a build the lock is free and the index gets built."""
        child = subprocess.Popen(
            [sys.executable, "-c", STUCK_BUILD, str(settings.home)], stdout=subprocess.PIPE
        )
        with child:
            assert child.stdout
            assert child.stdout.readline() == b"building\n"
            child.kill()
        name = settings.corpus_path.name
        assert (settings.home / f"{name}.new").exists()
        assert found(Corpus(settings, Shelf(TASKS).source()), "task") == ["Tasks"]
        assert {file.name for file in settings.home.iterdir()} == {name, "corpus-folders.db"}


class TestMany:
    """Several users at once."""

    def test_threads_share_one_build(self, settings: Settings) -> None:
        """Twenty searches at once wait for the same index."""
        shelf = Shelf(TASKS, QUEUES, pause_s=0.1)
        corpus = Corpus(settings, shelf.source())
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: found(corpus, "cancel a task"), range(20)))
        assert answers == [["Tasks"]] * 20
        assert shelf.reads == 1

    @pytest.mark.slow
    def test_two_builders_take_turns(self, settings: Settings) -> None:
        """The second waits for the first and then finds the work done."""
        shelf = Shelf(TASKS, pause_s=0.2)
        corpora = [Corpus(settings, shelf.source()) for _ in range(2)]  # as two processes have
        threads = [threading.Thread(target=corpus.prepare) for corpus in corpora]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert shelf.reads == 1

    @pytest.mark.slow
    def test_searching_goes_on_while_another_builds(self, settings: Settings) -> None:
        """Readers keep the old index until the new one is in its place."""
        Corpus(settings, Shelf(TASKS).source()).prepare()
        reader = Corpus(settings, Shelf(TASKS).source())
        reader.prepare()
        slow = Corpus(settings, Shelf(QUEUES, fingerprint="2", pause_s=0.3).source())
        builder = threading.Thread(target=slow.prepare)
        builder.start()
        answers = [found(reader, "task") for _ in range(20)]
        builder.join()
        assert answers == [["Tasks"]] * 20
        assert found(reader, "queue") == ["Queues"]


class TestFolders:
    """Folders that the user adds."""

    def test_its_pages_are_found(self, settings: Settings, notes: Path) -> None:
        """An added folder is searched together with the rest."""
        corpus = Corpus(settings, Shelf(TASKS).source())
        folder, left_out = corpus.add_folder(notes)
        assert (folder.name, folder.pages, left_out) == ("notes", 1, {})
        assert [hit.url for hit in corpus.search("onions", 10)] == [
            "https://notes.corpus.invalid/soup.md"
        ]
        assert found(corpus, "task") == ["Tasks"]
        assert corpus.folders() == [folder]

    def test_it_survives_a_rebuild_and_the_loss_of_the_index(
        self, settings: Settings, notes: Path
    ) -> None:
        """Its texts are kept apart, even when the folder itself is gone."""
        Corpus(settings, Shelf(TASKS).source()).add_folder(notes)
        (notes / "soup.md").unlink()
        assert found(Corpus(settings, Shelf(fingerprint="2").source()), "onions") == ["Soup"]
        settings.corpus_path.write_bytes(b"damaged")
        assert found(Corpus(settings, Shelf(fingerprint="2").source()), "onions") == ["Soup"]

    def test_its_path_need_not_be_unicode(self, settings: Settings, tmp_path: Path) -> None:
        """File systems know names that no text can hold."""
        odd = tmp_path / os.fsdecode(b"notes-\xff")
        odd.mkdir()
        (odd / "soup.md").write_text("# Soup\n\nPotatoes and onions.")
        corpus = Corpus(settings, Shelf().source())
        folder, _ = corpus.add_folder(odd)
        assert corpus.folders() == [folder]
        assert corpus.add_folder(odd)[0].name == folder.name == "notes"

    def test_adding_it_again_updates_it(self, settings: Settings, notes: Path) -> None:
        """Changed files count from then on, under the name that the folder has."""
        corpus = Corpus(settings, Shelf().source())
        corpus.add_folder(notes, name="kitchen", base_url="https://example.org/k")
        (notes / "soup.md").write_text("# Stew\n\nBeans.")
        assert found(corpus, "onions") == ["Soup"]
        folder, _ = corpus.add_folder(notes)
        assert folder.name == "kitchen"
        assert found(corpus, "beans") == ["Stew"]
        assert found(corpus, "onions") == []
        assert len(corpus.folders()) == 1

    def test_another_process_sees_the_change(self, settings: Settings, notes: Path) -> None:
        """A server that runs on finds what the command has added."""
        server = Corpus(settings, Shelf(TASKS).source())
        assert found(server, "onions") == []
        command = Corpus(settings, Shelf(TASKS).source())
        command.add_folder(notes)
        command.prepare()
        assert found(server, "onions") == ["Soup"]

    def test_removing_it_takes_its_pages_out(self, settings: Settings, notes: Path) -> None:
        """The files stay where they are."""
        corpus = Corpus(settings, Shelf(TASKS).source())
        corpus.add_folder(notes)
        corpus.remove_folder("notes")
        assert corpus.folders() == []
        assert found(corpus, "onions") == []
        assert (notes / "soup.md").exists()

    def test_no_environment_keeps_pages_of_a_removed_folder(
        self, settings: Settings, notes: Path
    ) -> None:
        """The other indexes are deleted, and built again where they are searched."""
        corpus = Corpus(settings, Shelf(TASKS).source())
        corpus.add_folder(notes)
        assert found(corpus, "onions") == ["Soup"]
        other = settings.corpus_path.with_name("corpus.11111111.db")
        other.write_bytes(settings.corpus_path.read_bytes())
        corpus.remove_folder("notes")
        assert not other.exists()

    def test_the_users_page_wins_over_the_shipped_one(
        self, settings: Settings, notes: Path
    ) -> None:
        """With the real address as base, the folder's text replaces the docstrings."""
        shipped = CorpusPage("https://a.org/soup.md", "Shipped", "Onions.")
        corpus = Corpus(settings, Shelf(shipped).source())
        corpus.add_folder(notes, base_url="https://a.org")
        assert found(corpus, "onions") == ["Soup"]

    def test_a_taken_name_is_refused(self, settings: Settings, notes: Path, tmp_path: Path) -> None:
        """Two folders cannot share a name, and the message says how to go on."""
        corpus = Corpus(settings, Shelf().source())
        corpus.add_folder(notes)
        other = tmp_path / "other" / "notes"
        other.mkdir(parents=True)
        (other / "a.md").write_text("words")
        with pytest.raises(InputError, match=r"'notes' is taken by .*Choose another with --name"):
            corpus.add_folder(other)
        assert corpus.add_folder(other, name="more")[0].name == "more"

    def test_a_folder_without_usable_files_is_refused(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        """Nothing is stored, and the message says what could have been."""
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "a.png").write_bytes(b"x")
        corpus = Corpus(settings, Shelf().source())
        with pytest.raises(InputError, match=r"no file that can be indexed \(\.html"):
            corpus.add_folder(tmp_path / "photos")
        (tmp_path / "photos" / "b.md").write_text("")
        with pytest.raises(InputError, match=r"1 left out, for instance b\.md: .*no text"):
            corpus.add_folder(tmp_path / "photos")
        assert corpus.folders() == []

    def test_a_home_folder_that_nobody_has_is_refused(self, settings: Settings) -> None:
        """What the shell left as it was is told as any other missing folder."""
        with pytest.raises(InputError, match=r"~no-such-user/docs cannot be found"):
            Corpus(settings, Shelf().source()).add_folder(Path("~no-such-user/docs"))

    def test_removing_an_unknown_folder_lists_the_known(
        self, settings: Settings, notes: Path
    ) -> None:
        """A typing error is answered with what there is."""
        corpus = Corpus(settings, Shelf().source())
        with pytest.raises(InputError, match=r"'x'\. Known: none was added"):
            corpus.remove_folder("x")
        corpus.add_folder(notes)
        with pytest.raises(InputError, match=r"'x'\. Known: notes"):
            corpus.remove_folder("x")


class TestErrors:
    """What cannot be helped is said in one sentence."""

    def test_an_unwritable_home_names_the_setting(self, tmp_path: Path) -> None:
        """A data folder that cannot be made is a matter of settings."""
        (tmp_path / "file").touch()
        corpus = Corpus(Settings(home=tmp_path / "file" / "home"), Shelf(TASKS).source())
        with pytest.raises(ConfigError, match="COLLECTION_SEARCH_HOME"):
            corpus.search("task", 1)

    def test_a_damaged_list_of_folders_says_what_to_do(self, settings: Settings) -> None:
        """The user's own list is never thrown away silently."""
        settings.home.mkdir()
        (settings.home / "corpus-folders.db").write_bytes(b"damaged " * 1000)
        with pytest.raises(StoreError, match=r"corpus-folders\.db.*delete it and add the folders"):
            Corpus(settings, Shelf(TASKS).source()).search("task", 1)

    def test_a_full_disk_says_what_to_do(self, settings: Settings) -> None:
        """An index that cannot be written names the file and the way out."""
        settings.home.mkdir()
        name = settings.corpus_path.name
        (settings.home / f"{name}.new").mkdir()  # stands in the way like any failing write
        told = rf"{re.escape(name)} cannot be written.*Make room"
        with pytest.raises(StoreError, match=told):
            Corpus(settings, Shelf(TASKS).source()).search("task", 1)


def test_indexes_of_environments_that_are_no_more_are_deleted(settings: Settings) -> None:
    """Those of others stay, and so do the folders that a person has added."""
    home = settings.prepared_home()
    old = {"corpus.0ld00000.db", "corpus.0ld00000.db.new", "corpus.db"}
    recent, folders = "corpus.11111111.db", "corpus-folders.db"
    Corpus(settings, Shelf(TASKS).source()).prepare()
    for name in (*old, recent):
        (home / name).touch()
    for name in (*old, folders):
        os.utime(home / name, (0, time.time() - OLD_S - 60))
    Corpus(settings, Shelf(TASKS, fingerprint="2").source()).prepare()
    left = {file.name for file in home.iterdir()}
    assert left == {settings.corpus_path.name, recent, folders}


def test_an_index_in_use_is_not_old(settings: Settings) -> None:
    """Though its packages have not changed for long."""
    long_ago = time.time() - OLD_S - 60
    shelf = Shelf(TASKS).source()
    Corpus(settings, shelf).prepare()
    own = settings.corpus_path
    os.utime(own, (long_ago, long_ago))
    Corpus(settings, shelf).prepare()
    assert own.stat().st_mtime == pytest.approx(long_ago, abs=1)
    used = own.rename(own.with_name("corpus.11111111.db"))
    Corpus(settings, shelf).prepare()
    assert used.exists()


def test_the_running_python_has_one_fingerprint() -> None:
    """Nothing changes while nothing is installed."""
    assert python_source().fingerprint == python_source().fingerprint

"""Files that appear whole, and what stands at their place before."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from collection_search.runtime.whole_file import write_whole, write_whole_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="has no such files")


def write(path: Path, text: str = "new") -> None:
    with write_whole(path) as draft:
        draft.write_text(text)


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_a_new_file_gets_the_usual_mode(path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(before)
    assert (path.read_text(), mode(path)) == ("new", 0o640)
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize("kept", [0o600, 0o664, 0o755])
def test_a_file_keeps_its_mode(path: Path, kept: int) -> None:
    path.write_text("old")
    path.chmod(kept)
    write(path)
    assert (path.read_text(), mode(path)) == ("new", kept)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may")
def test_a_file_keeps_its_owner(path: Path) -> None:
    path.write_text("old")
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (12345, 54321, 0o640)


def test_the_draft_of_a_private_file_is_private(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o600)
    with write_whole(path) as draft:
        draft.write_text("new")
        assert mode(draft) == 0o600
        assert path.read_text() == "old"


def test_nothing_changes_when_writing_fails(path: Path) -> None:
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), write_whole(path) as draft:
        draft.write_text("half, then \ud800")
    assert path.read_text() == "old"
    assert names(path.parent) == ["file"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write it")
def test_a_protected_file_is_refused(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        write(path)


def test_the_file_that_a_link_leads_to_is_replaced(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "real").write_text("old")
    path.symlink_to("folder/real")
    write(path)
    assert path.is_symlink()
    assert (folder / "real").read_text() == "new"
    assert names(folder) == ["real"]


def test_a_link_to_nothing_and_a_folder_are_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="link to a file that does not exist"):
        write(path)
    for place in (tmp_path, tmp_path / "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(IsADirectoryError):
            write(place)
    assert not (tmp_path / "gone").exists()


def test_a_device_is_written_into(tmp_path: Path) -> None:
    write(Path(os.devnull))
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write(link)
    assert link.is_symlink()


def test_a_pipe_is_written_into(path: Path) -> None:
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write(path)
    reader.join(60)
    assert read == ["new"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="has no /proc")
@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_an_open_file_is_written_into(path: Path, name: str) -> None:
    """As in `--output /dev/stdout >> file`: what the file holds stays."""
    path.write_text("before ")
    with path.open("a") as file:
        write(Path(name.format(file.fileno())), "after")
        file.write(" and more")
    assert path.read_text() == "before after and more"


def test_a_folder_appears_whole(path: Path) -> None:
    """With what is in it, also where an empty one stands; no draft is left."""
    path.mkdir()
    with write_whole_folder(path) as draft:
        (draft / "inner").mkdir()
        (draft / "inner" / "one").write_text("new")
        assert list(path.iterdir()) == []
    assert (path / "inner" / "one").read_text() == "new"
    assert names(path.parent) == [path.name]


def test_a_folder_that_fails_is_not_there(path: Path) -> None:
    """Neither it nor its draft."""
    with pytest.raises(UnicodeEncodeError), write_whole_folder(path) as draft:
        (draft / "one").write_text("\ud800", encoding="utf-8")
    assert names(path.parent) == []


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_there_is_not_replaced(path: Path, is_folder: bool) -> None:
    """A folder with files, and a file."""
    kept = path / "kept" if is_folder else path
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("old")
    with pytest.raises(FileExistsError), write_whole_folder(path):
        pass
    assert kept.read_text() == "old"
    assert names(path.parent) == [path.name]

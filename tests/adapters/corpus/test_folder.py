"""A folder of documents: what is read, where it is said to stand, and what is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collection_search.adapters.corpus.folder import (
    base_address,
    folder_name,
    read_folder,
    validate_name,
)
from collection_search.errors import InputError
from collection_search.text.urls import normalize_url

BASE = "https://notes.corpus.invalid/"


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.mark.slow
def test_each_file_of_a_known_kind_is_a_page(tmp_path: Path) -> None:
    """Sub-folders are read too; the address is the base and the path, escaped."""
    write(
        tmp_path,
        {
            "a.md": "# Alpha\n\nFirst.",
            "b.TXT": "Beta\n\nSecond.",
            "deep/er/c ö.rst": "Gamma\n=====\n\nThird.",
            "d.html": "<html><head><title>Delta</title></head><body><p>Fourth.</p></body></html>",
            "picture.png": b"\x89PNG",
            "code.py": "print()",
        },
    )
    content = read_folder(tmp_path, BASE)
    assert {page.url: page.title for page in content.pages} == {
        f"{BASE}a.md": "Alpha",
        f"{BASE}b.TXT": "Beta",
        f"{BASE}d.html": "Delta",
        f"{BASE}deep/er/c%20%C3%B6.rst": "Gamma",
    }
    assert content.left_out == {}
    assert all(normalize_url(page.url) == page.url for page in content.pages)


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    """What begins with a dot is not meant to be seen."""
    write(tmp_path, {".secret.md": "a", ".git/b.md": "b", "c.md": "c"})
    assert [page.url for page in read_folder(tmp_path, BASE).pages] == [f"{BASE}c.md"]


@pytest.mark.slow
def test_a_page_that_names_its_address_stands_there(tmp_path: Path) -> None:
    """The canonical link of an HTML page wins over the base address, in normal form."""
    head = '<link rel="canonical" href="https://Example.org/a?utm_source=x">'
    write(tmp_path, {"a.html": f"<html><head>{head}</head><body><p>Words.</p></body></html>"})
    assert read_folder(tmp_path, BASE).pages[0].url == "https://example.org/a"


def test_a_page_that_names_a_relative_address_stands_where_its_file_is(tmp_path: Path) -> None:
    """Nothing says where on the web the folder is."""
    head = '<link rel="canonical" href="/a">'
    write(tmp_path, {"b.html": f"<html><head>{head}</head><body><p>Words.</p></body></html>"})
    assert read_folder(tmp_path, BASE).pages[0].url == f"{BASE}b.html"


def test_of_two_pages_with_one_address_the_second_is_reported(tmp_path: Path) -> None:
    """Copies that name the same canonical address are one page."""
    head = '<link rel="canonical" href="https://example.org/a">'
    page = f"<html><head>{head}</head><body><p>Words.</p></body></html>"
    write(tmp_path, {"a.html": page, "b.html": page})
    content = read_folder(tmp_path, BASE)
    assert len(content.pages) == 1
    assert "same address, https://example.org/a" in content.left_out["b.html"]


def test_nothing_is_left_out_in_silence(tmp_path: Path) -> None:
    """Empty, binary and damaged files are counted, each with its reason."""
    write(tmp_path, {"a.md": " \n", "b.txt": b"\0\1\2", "c.pdf": b"%PDF-1.4 broken", "d.md": "ok"})
    (tmp_path / "e.md").mkdir()
    content = read_folder(tmp_path, BASE)
    assert [page.text for page in content.pages] == ["ok"]
    assert sorted(content.left_out) == ["a.md", "b.txt", "c.pdf"]
    assert "no text" in content.left_out["a.md"]


def test_links_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    """A link cannot bring in what lies elsewhere; broken and endless ones are reported."""
    root = write(tmp_path / "root", {"a.md": "inside"})
    write(tmp_path, {"secret.md": "outside", "other/b.md": "outside"})
    (root / "in.md").symlink_to("a.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "gone.md").symlink_to("nowhere")
    (root / "loop.md").symlink_to("loop.md")
    (root / "folder").symlink_to(tmp_path / "other")
    content = read_folder(root, BASE)
    assert [page.url for page in content.pages] == [f"{BASE}a.md", f"{BASE}in.md"]
    assert content.left_out == {
        "out.md": "The link leads out of the folder.",
        "gone.md": "The link leads nowhere.",
        "loop.md": "The link leads nowhere.",
        "folder": "A linked folder is not followed: add it by itself.",
    }


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """What is no file is never opened."""
    os.mkfifo(tmp_path / "pipe.txt")
    assert read_folder(tmp_path, BASE).left_out == {"pipe.txt": "Not a file."}


def test_a_name_that_is_no_unicode_is_read_all_the_same(tmp_path: Path) -> None:
    """The page has an address and a title that can be stored."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("word " * 100)
    (page,) = read_folder(tmp_path, BASE).pages
    assert page.url == f"{BASE}%EF%BF%BD.txt"
    assert page.title.encode()


def test_progress_counts_the_files(tmp_path: Path) -> None:
    """Each file is told once, with the whole."""
    write(tmp_path, {"a.md": "a", "b.md": "", "c.md": "c"})
    told: list[tuple[int, int]] = []
    read_folder(tmp_path, BASE, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_folder_must_be_one(tmp_path: Path) -> None:
    """A missing folder and a file are told apart."""
    file = write(tmp_path, {"a.md": "a"}) / "a.md"
    with pytest.raises(InputError, match=r"There is no folder .*gone"):
        read_folder(tmp_path / "gone", BASE)
    with pytest.raises(InputError, match=r"a\.md is a file\. Give the folder"):
        read_folder(file, BASE)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/a/My Docs", "my-docs"), ("/", "folder"), ("/Ünï", "n"), ("a" * 90, "a" * 63)],
)
def test_a_name_is_made_from_the_path(path: str, name: str) -> None:
    """Whatever a folder is called, its name can stand in an address."""
    assert folder_name(Path(path)) == name
    assert validate_name(name) == name


@pytest.mark.parametrize("name", ["", "a b", "-a", "a.b", "Ä", "a" * 64, "A"])
def test_a_given_name_must_fit_into_an_address(name: str) -> None:
    """The message says what a name is made of."""
    with pytest.raises(InputError, match="small letters"):
        validate_name(name)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTP://Example.org:80/docs/", "http://example.org/docs/"),
        ("https://example.org/a/../b#x", "https://example.org/b/"),
    ],
)
def test_a_base_address_ends_in_a_slash(given: str, base: str) -> None:
    """Files stand below it, in the normal form of addresses."""
    assert base_address("n", given) == base


@pytest.mark.parametrize(
    "given", ["example.org/docs", "ftp://example.org", "https://a.org/?x=1", ""]
)
def test_a_base_address_must_be_one(given: str) -> None:
    """The message names the option."""
    with pytest.raises(InputError, match="--base-url"):
        base_address("n", given)

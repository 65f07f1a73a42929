"""The documents of a user's folder as pages of the corpus."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...errors import ExtractionError, InputError, InvalidUrlError
from ...text.urls import normalize_url
from ..crawl.extract.formats import KINDS, PDF_BYTES, extract
from .entry import CorpusPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .entry import ReadProgress

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class FolderContent:
    """The usable and the unusable files of a folder."""

    pages: list[CorpusPage]
    left_out: dict[str, str]
    """Files of a known kind that could not be used: path relative to the folder -> reason."""


def folder_name(path: Path) -> str:
    """Return a name for the folder that is valid in an address.

    >>> from pathlib import Path
    >>> folder_name(Path("My Notes (2)"))
    'my-notes-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")[:63].strip("-") or "folder"


def validate_name(name: str) -> str:
    """Return the name. Raises InputError unless it is valid as a part of a host name."""
    if not _NAME.fullmatch(name):
        text = f"{name!r} cannot name a folder: use 1 to 63 small letters, digits and hyphens."
        raise InputError(text)
    return name


def base_address(name: str, base_url: str | None) -> str:
    """Return the base address of the folder's files, with a slash at its end.

    Without `base_url` it is in `.invalid`, a domain that never exists (RFC 6761). Raises
    InputError when `base_url` is not an http(s) address.

    >>> base_address("notes", None), base_address("notes", "https://example.org/docs")
    ('https://notes.corpus.invalid/', 'https://example.org/docs/')
    """
    if base_url is None:
        return f"https://{name}.corpus.invalid/"
    try:
        address = normalize_url(base_url)
    except InvalidUrlError as error:
        raise InputError(f"--base-url {base_url!r} cannot be used: {error}") from error
    if "?" in address:
        raise InputError(f"--base-url {base_url!r} has a query; give the address of a folder.")
    return address.rstrip("/") + "/"


def read_folder(root: Path, base: str, progress: ReadProgress | None = None) -> FolderContent:
    """Return a page per file of a known kind, without hidden files and folders.

    Only symbolic links to files within the folder are followed. Raises InputError when the folder
    does not exist, is a file or cannot be listed.
    """
    pages: dict[str, CorpusPage] = {}
    left_out: dict[str, str] = {}
    _check_folder(root)
    files = list(_files(root, left_out))
    for done, file in enumerate(files, start=1):
        try:
            page = _page(root, file, base)
            if pages.setdefault(page.url, page) is not page:
                left_out[_relative(root, file)] = f"Another file has the same address, {page.url}."
        except ExtractionError as error:
            left_out[_relative(root, file)] = str(error)
        except OSError as error:
            left_out[_relative(root, file)] = f"Cannot be read ({error.strerror})."
        if progress:
            progress(done, len(files))
    return FolderContent(list(pages.values()), left_out)


def _check_folder(root: Path) -> None:
    if not root.exists():
        raise InputError(f"There is no folder {root}.")
    if not root.is_dir():
        raise InputError(f"{root} is a file. Give the folder that it lies in.")
    try:
        os.scandir(root).close()
    except OSError as error:
        raise InputError(f"The folder {root} cannot be listed ({error.strerror}).") from error


def _files(root: Path, left_out: dict[str, str]) -> Iterator[Path]:
    """Yield usable files of known kinds, sorted by folder and name."""

    def unlisted(error: OSError) -> None:
        left_out[_relative(root, Path(error.filename))] = f"Cannot be listed ({error.strerror})."

    for folder, below, names in os.walk(root, onerror=unlisted):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for linked in (path for name in below if (path := Path(folder, name)).is_symlink()):
            left_out[_relative(root, linked)] = "A linked folder is not followed: add it by itself."
        for file in (Path(folder, name) for name in sorted(names) if not name.startswith(".")):
            if file.suffix.lower() not in KINDS:
                continue
            if obstacle := _obstacle(file, root):
                left_out[_relative(root, file)] = obstacle
            else:
                yield file


def _obstacle(file: Path, root: Path) -> str | None:
    """Return why the file must not or cannot be opened, or None."""
    try:
        target = file.resolve(strict=True)
    except (OSError, RuntimeError):
        return "The link leads nowhere."
    if not target.is_relative_to(root.resolve()):
        return "The link leads out of the folder."
    return None if target.is_file() else "Not a file."


def _page(root: Path, file: Path, base: str) -> CorpusPage:
    with file.open("rb") as stream:
        document = extract(stream.read(PDF_BYTES + 1), file.name)
    relative = _relative(root, file)
    canonical = document.canonical_url or ""
    is_absolute = canonical.startswith(("http://", "https://"))
    address = canonical if is_absolute else base + quote(relative)
    return CorpusPage(address, document.title or PurePosixPath(relative).stem, document.text)


def _relative(root: Path, file: Path) -> str:
    """Return the path below the folder, with slashes; invalid Unicode in it is replaced."""
    return os.fsencode(file.relative_to(root).as_posix()).decode("utf-8", "replace")

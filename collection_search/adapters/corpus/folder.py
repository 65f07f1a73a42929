"""A folder of the user's documents as pages of the corpus."""

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
    """What was found in a folder."""

    pages: list[CorpusPage]
    left_out: dict[str, str]
    """Files of a known kind that could not be used: path relative to the folder -> why."""


def folder_name(path: Path) -> str:
    """Return a name for the folder that can stand in an address.

    >>> from pathlib import Path
    >>> folder_name(Path("My Notes (2)"))
    'my-notes-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-")[:63].strip("-") or "folder"


def validate_name(name: str) -> str:
    """Return the name. Raises InputError unless it can be a part of a host name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a folder: use 1 to 63 small letters, digits and hyphens."
        )
    return name


def base_address(name: str, base_url: str | None) -> str:
    """Return the address below which the folder's files stand, with a slash at its end.

    Without an address of its own a folder gets one in `.invalid`, a domain that is reserved never
    to exist (RFC 6761). Raises InputError when `base_url` is no http(s) address.

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
    """Return a page per file of a known kind; hidden files and folders are passed over.

    Symbolic links are followed to files within the folder only. Raises InputError when the folder
    does not exist, is no folder or cannot be listed.
    """
    pages: dict[str, CorpusPage] = {}
    left_out: dict[str, str] = {}
    files = list(_files(_checked_folder(root), left_out))
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


def _checked_folder(root: Path) -> Path:
    if not root.exists():
        raise InputError(f"There is no folder {root}.")
    if not root.is_dir():
        raise InputError(f"{root} is a file. Give the folder that it lies in.")
    try:
        os.scandir(root).close()
    except OSError as error:
        raise InputError(f"The folder {root} cannot be listed ({error.strerror}).") from error
    return root


def _files(root: Path, left_out: dict[str, str]) -> Iterator[Path]:
    """Yield usable files of known kinds, sorted by folder and name."""

    def unlisted(error: OSError) -> None:
        left_out[_relative(root, Path(error.filename))] = f"Cannot be listed ({error.strerror})."

    for folder, below, names in os.walk(root, onerror=unlisted):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for file in (Path(folder, name) for name in sorted(names) if not name.startswith(".")):
            if file.suffix.lower() not in KINDS:
                continue
            if obstacle := _obstacle(file, root):
                left_out[_relative(root, file)] = obstacle
            else:
                yield file


def _obstacle(file: Path, root: Path) -> str | None:
    """Return why the file must not or cannot be opened, None when it can."""
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
    address = _normal(document.canonical_url) or base + quote(relative)
    return CorpusPage(address, document.title or PurePosixPath(relative).stem, document.text)


def _normal(address: str | None) -> str | None:
    try:
        return address and normalize_url(address)
    except InvalidUrlError:
        return None


def _relative(root: Path, file: Path) -> str:
    """Return the path below the folder with slashes; what is no Unicode in it is replaced."""
    return os.fsencode(file.relative_to(root).as_posix()).decode("utf-8", "replace")

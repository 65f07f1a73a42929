"""Pages of installed packages: the project page on PyPI and the documentation site."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ..crawl.extract.markup import markdown_text, rst_text
from ..crawl.site import link_target
from .docstrings import documentation
from .entry import CorpusPage, KeyedReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OWN_NAME: Final = "collection-search"
_TEXT_CHARS: Final = 80_000
_SOURCE_BYTES: Final = 400_000
_SITE_WEIGHT: Final = 0.85
"""The text belongs to a whole site; its start page may not show it."""
_CODE_HOSTS: Final = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
_DOCUMENTATION = re.compile(r"doc(s|umentation)(:.*)?", re.IGNORECASE)
_NOT_DOCUMENTED = re.compile(r"_?tests?|testing|_?vendor(ed)?|examples?|conftest|.*_pb2(_grpc)?")


def site_folders() -> list[Path]:
    """Return the folders of installed packages of the running Python, in its order."""
    folders = [Path(folder) for folder in dict.fromkeys(sys.path)]
    return [folder for folder in folders if folder.name in {"site-packages", "dist-packages"}]


def list_installed(folders: Iterable[Path]) -> list[str]:
    """Return `name-version` of every package in the folders, sorted. No metadata are read."""
    return sorted(path.stem for folder in folders for path in folder.glob("*.*-info"))


def package_readers(folders: Iterable[Path]) -> list[KeyedReader]:
    """Return a reader per project page and per documentation site.

    Of two packages with one name the first is used, as for `import`. This package is left out.
    """
    packages = {package.key: package for package in reversed(list(_packages(folders)))}
    packages.pop(_OWN_NAME, None)
    sites = defaultdict[str, list[_Package]](list)
    for package in packages.values():
        if package.site:
            sites[package.site].append(package)
    return [
        *(
            KeyedReader(f"project {package.release}", partial(_project_page, package))
            for package in packages.values()
        ),
        *(
            KeyedReader(
                " ".join(["site", site, *(package.release for package in sharing)]),
                partial(_site_page, site, sharing),
            )
            for site, sharing in sites.items()
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Package:
    """A package with data from its metadata."""

    distribution: Distribution
    name: str
    summary: str
    readme: str
    site: str | None
    """Address of its documentation."""

    @property
    def key(self) -> str:
        """Return the name in the form of PyPI's addresses (PEP 503)."""
        return re.sub(r"[-_.]+", "-", self.name).lower()

    @property
    def release(self) -> str:
        """Return what tells this installation from others: its folder has name and version."""
        return str(self.distribution.locate_file("") / f"{self.key}=={self.distribution.version}")

    @classmethod
    def of(cls, distribution: Distribution) -> _Package:
        """Return the package. Raises KeyError or ValueError when the metadata are invalid."""
        facts = distribution.metadata.json
        readme = str(facts.get("description", ""))
        is_markdown = "markdown" in str(facts.get("description_content_type", ""))
        return cls(
            distribution=distribution,
            name=str(facts["name"]),
            summary=" ".join(str(facts.get("summary", "")).split()),
            readme=markdown_text(readme) if is_markdown else rst_text(readme),
            site=_documentation_site(facts.get("project_url") or ()),
        )


def _packages(folders: Iterable[Path]) -> Iterator[_Package]:
    for distribution in distributions(path=[str(folder) for folder in folders]):
        with suppress(KeyError, ValueError, OSError, AttributeError):  # a broken installation
            yield _Package.of(distribution)


def _documentation_site(project_urls: Iterable[str]) -> str | None:
    """Return the documentation address of the metadata, None when it is on a code host.

    >>> _documentation_site(["Docs, https://a.org/docs", "Changelog, https://a.org/changes"])
    'https://a.org/docs'
    """
    for entry in project_urls:
        label, _, address = (part.strip() for part in entry.partition(","))
        if _DOCUMENTATION.fullmatch(label) and "change" not in label.lower():
            site = link_target("", address)
            return site if site and urlsplit(site).hostname not in _CODE_HOSTS else None
    return None


def _project_page(package: _Package) -> CorpusPage | None:
    """Return the page on PyPI, with the README from the package's metadata."""
    if not package.readme:
        return None
    url = f"https://pypi.org/project/{package.key}/"
    return CorpusPage(url, f"{package.name}: {package.summary}", package.readme[:_TEXT_CHARS])


def _site_page(address: str, packages: list[_Package]) -> CorpusPage | None:
    """Return the documentation site, with the docstrings of its packages."""
    text = "\n\n".join(_docstrings(package.distribution) for package in packages).strip()
    title = f"{packages[0].name} documentation: {packages[0].summary}"
    return CorpusPage(address, title, text[:_TEXT_CHARS], _SITE_WEIGHT) if text else None


def _docstrings(package: Distribution) -> str:
    """Return the docstrings of the modules: public ones first, then by depth."""
    texts: list[str] = []
    chars = source_bytes = 0
    for module, path in _modules(package):
        with suppress(OSError):
            source = path.read_bytes()[:_SOURCE_BYTES]
            if text := documentation(source):
                texts.append(f"# {module}\n\n{text}")
            chars += len(text)
            source_bytes += len(source)
        if chars >= _TEXT_CHARS or source_bytes >= _SOURCE_BYTES:
            break
    return "\n\n".join(texts)


def _modules(package: Distribution) -> list[tuple[str, Path]]:
    """Return name and file of the package's modules, public ones first, then by depth."""
    found = []
    for file in package.files or ():
        parts = (*file.parent.parts, file.stem) if file.stem != "__init__" else file.parent.parts
        if file.suffix == ".py" and parts and all(map(_is_documented, parts)):
            private = sum(part.startswith("_") for part in parts)
            found.append((private, len(parts), ".".join(parts), Path(str(file.locate()))))
    return [(name, path) for _, _, name, path in sorted(found)]


def _is_documented(part: str) -> bool:
    return part.isidentifier() and not _NOT_DOCUMENTED.fullmatch(part)

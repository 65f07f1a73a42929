"""Installed packages: their project page with its README, their documentation site if named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.corpus.packages import list_installed, package_readers, site_folders

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.adapters.corpus.entry import CorpusPage


def install(
    folder: Path, name: str, *headers: str, readme: str = "", modules: dict[str, str] | None = None
) -> None:
    """Put a package into a folder as an installer does."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *headers, "", readme]
    (info / "METADATA").write_text("\n".join(lines))
    for path, source in (modules or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source)
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in modules or ()))


def pages(*folders: Path) -> dict[str, CorpusPage]:
    found = filter(None, (reader() for reader in package_readers(folders)))
    return {page.url: page for page in found}


def test_a_project_page_shows_the_readme(tmp_path: Path) -> None:
    """The address follows PyPI's spelling of the name, the text is the README without its marks."""
    install(tmp_path, "Nice_Tool", "Summary: Does  nice", " things", readme="Nice\n====\n\nFast.")
    (page,) = pages(tmp_path).values()
    assert page.url == "https://pypi.org/project/nice-tool/"
    assert page.title == "Nice_Tool: Does nice things"
    assert page.text == "# Nice\n\nFast."
    assert page.weight == 1


def test_a_readme_in_markdown_is_read_as_such(tmp_path: Path) -> None:
    """The content type of the metadata decides which marks are taken out."""
    header = "Description-Content-Type: text/markdown; charset=UTF-8"
    install(tmp_path, "tool", header, readme="# Tool\n\nSee [docs](https://a.org).")
    assert pages(tmp_path)["https://pypi.org/project/tool/"].text == "# Tool\n\nSee docs."


def test_a_documentation_site_has_the_docstrings(tmp_path: Path) -> None:
    """Public modules come first, tests and vendored code are left out, nothing is imported."""
    install(
        tmp_path,
        "tool",
        "Summary: A tool",
        "Project-URL: Changelog, https://tool.example.org/changes",
        "Project-URL: Documentation, https://Tool.example.org",
        modules={
            "tool/__init__.py": '"""The face."""\nraise RuntimeError("imported")',
            "tool/_engine.py": '"""The engine."""',
            "tool/parts.py": 'def turn(speed):\n    """Turn the wheel."""',
            "tool/tests/test_it.py": '"""A test."""',
            "tool/_vendor/other.py": '"""Not ours."""',
            "tool/data.txt": "no module",
            "../../../bin/tool.py": '"""A script."""',
        },
    )
    page = pages(tmp_path)["https://tool.example.org/"]
    assert page.title == "tool documentation: A tool"
    assert page.text == (
        "# tool\n\nThe face.\n\n# tool.parts\n\n## turn(speed)\n    Turn the wheel.\n\n"
        "# tool._engine\n\nThe engine."
    )
    assert page.weight < 1


def test_packages_that_share_a_site_share_its_entry(tmp_path: Path) -> None:
    """One address is one entry, with the texts of all its packages."""
    for name in ("one", "two"):
        url = "Project-URL: Docs, https://example.org/docs"
        install(tmp_path, name, url, modules={f"{name}.py": f'"""Part {name}."""'})
    (page,) = pages(tmp_path).values()
    assert "Part one." in page.text
    assert "Part two." in page.text


@pytest.mark.parametrize(
    "header",
    [
        "Project-URL: Documentation, https://github.com/me/tool#readme",
        "Project-URL: Homepage, https://example.org",
        "Project-URL: Docs: Changelog, https://example.org/changes",
        "Project-URL: Documentation, ftp://example.org",
        "Project-URL: Documentation",
        "Author: me",
    ],
)
def test_no_site_is_made_up(tmp_path: Path, header: str) -> None:
    """A repository's README, a home page or a broken address is no documentation site."""
    install(tmp_path, "tool", header, modules={"tool.py": '"""Words."""'})
    assert pages(tmp_path) == {}


def test_texts_are_bounded(tmp_path: Path) -> None:
    """A huge package takes no more room than a large one."""
    source = "\n".join(f'def f{n}():\n    """{"word " * 200}"""' for n in range(300))
    install(
        tmp_path,
        "huge",
        "Project-URL: Docs, https://example.org/",
        readme="word " * 50_000,
        modules={f"huge/part{n}.py": source for n in range(5)},
    )
    assert {len(page.text) for page in pages(tmp_path).values()} == {80_000}


def test_the_first_of_two_packages_with_one_name_counts(tmp_path: Path) -> None:
    """What `import` would find is what is described."""
    install(tmp_path / "a", "tool", readme="The first.")
    install(tmp_path / "b", "Tool", readme="The second.")
    (page,) = pages(tmp_path / "a", tmp_path / "b").values()
    assert page.text == "The first."


def test_a_broken_package_costs_only_itself(tmp_path: Path) -> None:
    """An interrupted installation or unreadable metadata leave the other packages alone."""
    (tmp_path / "gone-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info" / "METADATA").write_bytes(b"Name: odd\nSummary: \xff\n\nText")
    install(tmp_path, "tool", readme="Words.")
    assert "https://pypi.org/project/tool/" in pages(tmp_path)


def test_collection_search_itself_is_left_out(tmp_path: Path) -> None:
    """A question about searching is not answered with the searcher."""
    install(tmp_path, "collection-search", readme="Words.")
    assert pages(tmp_path) == {}


def test_the_running_python_sees_its_packages() -> None:
    """The folders are those of this interpreter; names come with versions, sorted."""
    packages = list_installed(site_folders())
    assert any(name.startswith("pytest-") for name in packages)
    assert packages == sorted(packages)


def test_a_reader_is_told_by_its_release(tmp_path: Path) -> None:
    """Another package changes none of the keys, another version its own."""

    def keys() -> set[str]:
        return {reader.key for reader in package_readers([tmp_path])}

    install(tmp_path, "tool", readme="Fast.")
    before = keys()
    install(tmp_path, "other", readme="Slow.")
    assert before < keys()
    (tmp_path / "tool-1.0.dist-info").rename(tmp_path / "tool-1.1.dist-info")
    metadata = tmp_path / "tool-1.1.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    assert not before & keys()

"""Code of HTML pages, read line by line."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.testing.hostile_site.replies import article

CODE = "def wait(fish):\n    if fish:\n        return  1  # beak\n\n    return 2\n"
SHOWN = "\ndef wait(fish):\n    if fish:\n        return  1  # beak\n\n    return 2\n"
SPANS = "".join(f'<span class="line"><b>{line}</b></span>\n' for line in CODE.split("\n"))
BREAKS = CODE.replace("\n", "<br>")
NUMBERS = "<td class='linenos'><pre>1\n2\n3\n4\n5</pre></td>"


def text_of(part: str) -> str:
    return extract(article(more=part).encode(), "page.html").text


@pytest.mark.parametrize("code", [CODE, SPANS, BREAKS, f"{CODE}<button>Copy</button>"])
@pytest.mark.parametrize(
    "around",
    [
        "<pre>{}</pre>",
        "<pre><code class='language-python'>{}</code></pre>",
        "<ol><li><p>Call it:</p><div class='highlight'><pre>{}</pre></div></li></ol>",
        "<ul><li>Call it: <pre>{}</pre> and see.</li></ul>",
        "<dl><dt>wait</dt><dd><p>Waits for a fish.</p><pre>{}</pre></dd></dl>",
        "<figure class='highlight'><pre><code>{}</code></pre></figure>",
        f"<table class='highlighttable'><tr>{NUMBERS}<td><div><pre>{{}}</pre></div></td></tr></table>",
        f"<figure><table><tr>{NUMBERS}<td class='code'><pre>{{}}</pre></td></tr></table></figure>",
    ],
)
def test_code_keeps_its_lines_wherever_it_stands(code: str, around: str) -> None:
    """In a list it was one line, in a figure it was left out, beside its numbers it was a row."""
    text = text_of(around.format(code))
    assert f"{SHOWN}" in f"\n{text}\n"
    assert "Copy" not in text


def test_the_caption_of_code_stays() -> None:
    """A figure of an image is still left out."""
    caption = "<figcaption>Listing 3: how it waits</figcaption>"
    assert "Listing 3: how it waits" in text_of(f"<figure>{caption}<pre>{CODE}</pre></figure>")
    assert "Listing 3" not in text_of(f"<figure>{caption}<img src='a.png'></figure>")


def test_the_numbers_of_lines_are_no_code() -> None:
    """Those within the code, that have a name."""
    part = "<pre><span class='linenos'>1</span>a = 4\n<span class='linenos'>2</span>b = 5</pre>"
    assert "a = 4\nb = 5" in text_of(part)


def test_code_in_a_cell_is_a_part_of_its_row() -> None:
    """A table of options has often such cells."""
    rows = "<tr><th>Option</th><th>Use</th></tr><tr><td><pre>-a\n-b</pre></td><td>All.</td></tr>"
    assert "| -a -b | All. |" in text_of(f"<table>{rows}</table>")


def test_a_comment_in_code_is_no_heading() -> None:
    """It is indented by a blank, also in a list."""
    assert "\n # a comment\n" in text_of("<ul><li>Write:<pre># a comment\nx = 1</pre></li></ul>")


def test_marks_that_a_page_writes_itself_make_no_headings() -> None:
    """They end lines at most."""
    assert "\n# Owned" not in text_of("<pre>a</pre><p>Say ¤c¤# Owned ¤l¤# Owned here.</p>")

"""PDFs of one page with lines in several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Line = str | tuple[str, int]


def pdf_lines(lines: Sequence[Line], *, title: str = "", more: str = "") -> bytes:
    """Return a PDF of the lines, from the top; a line may come with the size of its letters.

    `more` are further drawing operators. There is no cross-reference table: readers rebuild it.
    """
    shown, down = [], 740
    for line in lines:
        text, size = (line, 12) if isinstance(line, str) else line
        down -= round(size * 1.3)
        shown.append(f"BT /F1 {size} Tf 72 {down} Td ({text}) Tj ET")
    stream = "\n".join([*shown, more])
    page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 6 0 R"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
        f"<< {page} /Resources << /Font << /F1 3 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
    ]
    body = "".join(f"{n} 0 obj\n{text}\nendobj\n" for n, text in enumerate(objects, start=1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R /Info 4 0 R /Size 7 >>\n%%EOF".encode()

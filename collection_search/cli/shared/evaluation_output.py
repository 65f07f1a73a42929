"""The output of an evaluation: narrow tables or JSON, and the report file with its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...errors import InputError
from .narrow_tables import print_report

if TYPE_CHECKING:
    from pathlib import Path

    from ...tools.evaluation.report_tables import Report
    from .terminal import Screen


def check_report(path: Path | None) -> None:
    """Raise InputError for a report file that cannot be written, before any work is done."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise InputError(f"--report {path} cannot be written: name a file in a folder that is.")
    if path is not None and path.suffix.lower() == ".svg":
        raise InputError(f"--report {path} is Markdown: name a file .md, the picture is beside it.")


def put_out(
    report: Report, as_json: dict[str, Any], screen: Screen, path: Path | None, *, picture: str = ""
) -> None:
    """Write the report file, with the picture (SVG) beside it, and print the report."""
    if path is not None:
        image = path.with_name(f"{path.stem}.svg") if picture and _is_file(path) else None
        if image is not None:
            _write(image, picture)
        name = quote(image.name) if image is not None else ""
        _write(path, report.to_markdown(picture=name))
        beside = f", its picture in {image}" if image is not None else ""
        screen.note(f"The report is in {path}{beside}.")
    if screen.as_json:
        screen.json(as_json)
    else:
        print_report(report, screen)


def _write(path: Path, text: str) -> None:
    from ...runtime.whole_file import write_whole

    try:
        with write_whole(path) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--report {path} cannot be written ({error.strerror}).") from error


def _is_file(path: Path) -> bool:
    """Return whether a picture can stand beside it: not beside a device such as /dev/stdout."""
    return path.is_file() or not path.exists()

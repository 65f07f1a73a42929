"""Pictures of the graphs: `python -m support.graph_pictures FOLDER` keeps them as graph-NAME.png.

LangGraph writes each compiled graph as a Mermaid diagram. Mermaid, from the npm registry, draws it in Chromium.
A picture carries the digest of its diagram, by which a test sees that it is of this graph.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from PIL import Image, PngImagePlugin

from collection_search import build_graph
from collection_search.graphs.universal_ingestion import graph as ingestion

MERMAID: Final = "mermaid@11"
DIGEST: Final = "diagram"
"""The key of the digest in the picture's file."""
COLOURS: Final = 64


def diagrams() -> dict[str, str]:
    """Return the Mermaid diagram of each graph by its name."""
    graphs: dict[str, Any] = {
        "search": build_graph(),
        "review": build_graph(review=True),
        "ingestion": ingestion,
    }
    return {name: graph.get_graph().draw_mermaid() for name, graph in graphs.items()}


def digest(diagram: str) -> str:
    """Return what tells one diagram from another."""
    return hashlib.sha256(diagram.encode()).hexdigest()


def keep(folder: Path) -> None:
    """Draw the graphs and keep the pictures."""
    from .chromium import chromium, find_chromium

    with chromium(find_chromium()) as browser:
        page = browser.new_context(device_scale_factor=1.5).new_page()
        page.set_content("<body style='margin: 8px; display: inline-block'></body>")
        page.add_script_tag(content=_mermaid())
        for name, diagram in diagrams().items():
            page.evaluate(
                "async text => {"
                " mermaid.initialize({startOnLoad: false});"
                " document.body.innerHTML = (await mermaid.render('drawn', text)).svg; }",
                diagram,
            )
            _save(page.locator("svg").screenshot(), folder / f"graph-{name}.png", digest(diagram))


def _save(png: bytes, path: Path, diagram: str) -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text(DIGEST, diagram)
    shown = Image.open(io.BytesIO(png)).convert("RGB")
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(path, pnginfo=info, optimize=True)


def _mermaid() -> str:
    """Return Mermaid's script, fetched from the npm registry."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", MERMAID], cwd=folder, check=True, capture_output=True)
        (packed,) = Path(folder).glob("mermaid-*.tgz")
        with tarfile.open(packed) as files:
            script = files.extractfile("package/dist/mermaid.min.js")
            assert script is not None
            return script.read().decode()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))

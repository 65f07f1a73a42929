"""Makes each process that extracts text hang on its first document."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_loads = json.loads


def _hang(text: Any, **options: Any) -> Any:
    found = _loads(text, **options)
    if isinstance(found, dict) and "cpu_s" in found:
        Path(os.environ["TMPDIR"], f"stuck-{os.getpid()}").mkdir()  # it may not write a file
        time.sleep(600)
    return found


if any(argument.endswith(".extraction_worker") for argument in sys.orig_argv):
    json.loads = _hang

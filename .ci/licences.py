"""Fails where an installed package has a licence that is not on the list.

`python licences.py PAGE` looks at all that is installed beside `collection-search` in the
environment of the Python that runs it. PAGE is docs/reference/dependencies.md: each direct
dependency has a row with its licence there.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path

ALLOWED = (
    "MIT",
    "BSD",
    "Apache",
    "ISC",
    "PSF",
    "Python Software Foundation",
    "MPL-1.1",
    "MPL-2.0",
    "Mozilla Public",
)
"""One of several alternatives is enough."""
A_TEXT = 60
"""From this length on a field has the licence's text, not its name."""
STATED_IN_A_FILE = {"python-dateutil": "Apache-2.0 OR BSD-3-Clause"}
TOOLS = {"pip", "setuptools", "wheel", "collection-search"}


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states, as short as it does."""
    metadata = package.metadata
    if known := STATED_IN_A_FILE.get(str(metadata["Name"])):
        return known
    classified = [
        value.rpartition(" :: ")[2].removesuffix(" License")
        for value in metadata.get_all("Classifier", [])
        if value.startswith("License ::") and value != "License :: OSI Approved"
    ]
    stated = str(metadata.get("License") or "").strip().partition("\n")[0]
    return str(
        metadata.get("License-Expression")
        or (stated if 0 < len(stated) < A_TEXT else "")
        or " OR ".join(classified)
    )


def main(page: Path) -> int:
    """Print what is wrong; return 1 if anything is."""
    packages = {
        str(each.metadata["Name"]).lower().replace("_", "-"): each for each in distributions()
    }
    licences = {name: licence_of(each) for name, each in packages.items() if name not in TOOLS}
    wrong = [
        f"{name}: {licence or 'no licence is stated'}"
        for name, licence in sorted(licences.items())
        if not any(allowed in licence for allowed in ALLOWED)
    ]
    direct = {
        re.split(r"[<>=~!\[; ]", line)[0].lower().replace("_", "-")
        for line in requires("collection-search") or []
        if "extra ==" not in line
    }
    text = page.read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w.-]+)` \|.*\| ([^|]+) \|$", text, re.MULTILINE))
    named = {name.lower().replace("_", "-"): licence for name, licence in rows.items()}
    wrong += [
        f"{page}: `{name}` has the licence {licences[name]}"
        for name in sorted(direct)
        if named.get(name) != licences[name]
    ]
    wrong += [f"{page}: `{name}` is no direct dependency" for name in sorted(set(named) - direct)]
    print("\n".join(wrong))
    print(f"licences of {len(licences)} packages: {'wrong' if wrong else 'all on the list'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

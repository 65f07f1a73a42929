"""`python -m collection_search`: the command."""

from typing import NamedTuple

from .cli import main

try:
    main()
finally:
    # An interrupt while the standard library executes a string, as for every dataclass, marks the
    # process as ended by SIGINT. CPython keeps to the mark where the interrupt was handled and
    # `python -m` ends with a code of its own. A further executed string takes it away.
    NamedTuple("Executed", [])

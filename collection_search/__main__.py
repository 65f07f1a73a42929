"""`python -m collection_search`: the command."""

from .cli import main

try:
    main()
finally:
    # An interrupt inside `exec(string)`, as dataclasses call it, marks the process as ended by
    # SIGINT, and CPython keeps to that even where the interrupt was handled and `python -m` ends
    # with an exit code of its own. Every further `exec(string)` takes the mark away.
    exec("")  # noqa: S102

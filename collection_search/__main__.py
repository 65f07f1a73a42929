"""`python -m collection_search`: the command."""

from .cli import main

main()

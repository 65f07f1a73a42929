"""The cost of a run: its limit, its records, and its cached answers."""

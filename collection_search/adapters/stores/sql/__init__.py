"""What the stores of every SQL engine share: statements, rows, and the ledger's rules.

The statements are written in SQLite's dialect; an engine's connection translates them where its own
differs.
"""

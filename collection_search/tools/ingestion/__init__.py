"""Workers that turn ledger rows into searchable documents."""

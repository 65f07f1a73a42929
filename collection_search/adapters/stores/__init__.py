"""Stores: staged texts, the ledger of ingestion and the collections; one database each."""

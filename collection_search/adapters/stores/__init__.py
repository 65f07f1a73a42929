"""Stores: databases of staged texts, ledger, collections and usage."""

"""Carries everything from the embedded files over to a PostgreSQL database."""

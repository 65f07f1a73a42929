"""Cleaning, normalisation and redaction of texts and URLs."""

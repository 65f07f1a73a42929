"""Texts and URLs as values: cleaned, normalised, redacted."""

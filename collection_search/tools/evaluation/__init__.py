"""Evaluation of the ranking on labelled data."""

"""Scores of pages for a question, their calibration, and measures of a ranking."""

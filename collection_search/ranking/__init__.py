"""How well a page answers a question: scores, their calibration, and measures of a ranking."""

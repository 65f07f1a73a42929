"""How well the ranking does on labelled data."""

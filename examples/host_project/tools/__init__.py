"""Functions that know neither graph nor state."""

"""The outside world, one vendor library per file."""

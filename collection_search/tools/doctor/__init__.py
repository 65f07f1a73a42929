"""Whether every part works, and what to do where it does not."""

"""From the bytes of a file or page to its text."""

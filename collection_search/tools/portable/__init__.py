"""Collections as files: written in canonical form, checked when read."""

"""What several sub-commands have in common."""

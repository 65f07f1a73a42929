"""Export and import of collections as files."""

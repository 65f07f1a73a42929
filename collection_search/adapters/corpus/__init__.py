"""The offline corpus: documentation on this machine and folders of the user."""

"""The offline corpus: documentation that is already on the machine, and folders of the user."""

"""Title and text of a document, read in processes that can be killed."""

"""Extraction of title and text from documents, in processes that can be killed."""

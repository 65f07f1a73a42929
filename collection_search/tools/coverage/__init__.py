"""Coverage: what an ingestion stored, and which queries the collection answers."""

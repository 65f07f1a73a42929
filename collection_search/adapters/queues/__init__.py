"""Message queues that wake the workers of an ingestion."""

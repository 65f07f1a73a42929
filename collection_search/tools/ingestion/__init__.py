"""The parts of ingestion: engine, leases, failures, embedders."""

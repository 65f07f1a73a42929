"""The stages of the graphs, one per file; no stage imports another."""

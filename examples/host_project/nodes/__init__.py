"""The steps of the graph."""

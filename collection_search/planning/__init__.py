"""Search queries for a question: the prompt of a model, and queries without a model."""

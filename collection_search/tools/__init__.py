"""What programs and models call: one module per public tool, and what tools share."""

"""Answers from passages: what a model wrote, its citations, and what it cost."""

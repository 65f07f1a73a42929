"""Rerankers: cross-encoders that compute on this machine."""

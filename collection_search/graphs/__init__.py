"""Wiring only: which stage follows which."""

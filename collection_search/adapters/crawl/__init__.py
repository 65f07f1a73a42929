"""Fetching of web pages, and extraction of text from pages and files."""

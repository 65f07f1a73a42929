"""Vendors' names of languages and countries, by code."""

from __future__ import annotations

from pathlib import Path


def map_codes(listed: str, form: str = "{}") -> dict[str, str]:
    """Return the vendor's form of each of these codes.

    >>> map_codes("de en", "lang_{}")
    {'de': 'lang_de', 'en': 'lang_en'}
    """
    return {code: form.format(code) for code in listed.split()}


def named_codes(file: str) -> dict[str, str]:
    """Return a vendor's names by code: each line of a file of this folder holds one of each.

    >>> named_codes("tavily_countries.txt")["BA"]
    'bosnia and herzegovina'
    """
    lines = Path(__file__).with_name(file).read_text("utf-8").splitlines()
    return {code: name for code, _, name in (line.partition(" ") for line in lines)}

"""Vendors' names of languages and countries, by code."""

from __future__ import annotations

from pathlib import Path
from typing import Final


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


GOOGLE_LANGUAGES: Final = map_codes(
    "af ar be bg ca cs da de el en eo es et fa fi fr hi hr hu hy id is it ja ko lt lv nl no pl pt"
    " ro ru sk sl sr sv sw th tl tr uk vi",
    "lang_{}",
) | {"he": "lang_iw", "zh": "lang_zh-CN"}
"""The languages of the parameter `lr` of Google's result pages."""

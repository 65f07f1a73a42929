"""The words of each supported language, as data: one module per language.

Written for this package, from general knowledge of the languages and not from a labelled set, so
that the benchmark's sets remain unseen. A new language is one module here and one line in
`collection_search.ranking.lexicon`.
"""

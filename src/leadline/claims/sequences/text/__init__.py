"""Text."""

MODULES = ("perplexities", "ngrams", "characters")

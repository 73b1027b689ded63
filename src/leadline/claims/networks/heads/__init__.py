"""Output heads."""

MODULES = ("heads", "labels_and_norms", "embeddings")

"""Vectors for words: the log-bilinear model."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "cooccurrence": ["conditionals", "pointwise_mutual_information", "window_counts"],
        "corpora": ["OTHER", "Corpus", "dataset_descriptions", "index_words"],
        "log_bilinear": [
            "LogBilinear",
            "full_softmax_loss",
            "nearest_words",
            "negative_sampling_loss",
            "sampled_loss",
        ],
    },
)

from .cooccurrence import (
    conditionals as conditionals,
    pointwise_mutual_information as pointwise_mutual_information,
    window_counts as window_counts,
)
from .corpora import index_words as index_words
from .log_bilinear import (
    LogBilinear as LogBilinear,
    full_softmax_loss as full_softmax_loss,
    nearest_words as nearest_words,
    negative_sampling_loss as negative_sampling_loss,
    sampled_loss as sampled_loss,
)

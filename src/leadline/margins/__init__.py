"""Margins: how widely a classifier separates data, the widest it could, and what that promises."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "separation": ["Separation", "separate"],
        "labelled": ["signed_sample"],
        "point_margin": ["DataMargin", "data_margin", "network_margins", "point_margins"],
        "hard_margin": ["MaxMargin", "max_margin"],
        "hinge": ["SoftMargin", "soft_margin"],
        "version_space": ["VersionArcs", "VersionShare", "version_arcs", "version_share"],
        "mistake_bounds": ["mistake_bound", "online_to_batch_bound"],
        "class_pairs": ["PairDifficulty", "class_pair", "pair_difficulty"],
    },
)

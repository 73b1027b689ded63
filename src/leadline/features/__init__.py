"""Feature maps: monomials, image features, random features, and what a feature space makes similar."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "boxes": ["all_boxes", "box_count", "box_features", "box_sums", "integral_image", "random_boxes"],
        "feature_model": ["FeatureModel"],
        "gabor": ["GaborBank", "filter_responses", "gabor_bank", "gabor_features", "gabor_filter"],
        "kernel_targets": ["alignment"],
        "monomials": [
            "monomial_count",
            "monomial_exponents",
            "monomial_features",
            "monomial_values",
            "multinomial_weights",
            "paraboloid_lift",
        ],
        "neighbours": [
            "asymptotic_neighbour_distance",
            "mean_neighbour_distance",
            "torus_neighbour_distances",
            "unit_ball_volume",
        ],
        "similarity": ["PairSimilarities", "centred_cosine", "pair_similarities", "similarity_auc"],
        "two_layer": ["TwoLayerRun", "draw_two_layer", "stack_networks", "train_two_layer", "two_layer_loss"],
    },
)

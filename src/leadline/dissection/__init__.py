"""What is inside a network that is given as a function: its layers, their sizes and costs, the values between them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "affine_maps": ["ReadAffine", "dense_affine"],
        "chain": ["Chain", "ChainStep"],
        "dense_chains": ["DenseChain", "is_homogeneous", "is_odd", "read_dense_chain"],
        "chain_mean_field": ["MomentPrediction", "predict_moments", "why_no_mean_field"],
        "dissecting": ["Dissection", "LayerSignals", "dissect"],
        "elementwise": ["ScalarFunction", "scalar_function"],
        "layer_facts": ["LayerFacts"],
        "layer_moments": ["LayerMoments", "direction_concentration", "measure_moments"],
        "seen_inputs": ["centre_of", "input_sensitivity"],
        "traced_network": ["TracedNetwork", "trace_network"],
    },
)

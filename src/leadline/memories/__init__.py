"""Associative memories: Hopfield networks, their storage rules, and their modern descendants."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "hopfield": ["FactoredHopfield", "HopfieldNetwork", "energy", "local_fields", "overlaps", "sgn"],
        "storage": ["add_pattern", "hebbian", "hebbian_network", "projection", "projection_network", "remove_pattern"],
        "dynamics": ["Retrieval", "SynchronousRun", "Trace", "asynchronous", "glauber", "synchronous", "trace"],
        "stability": ["Basin", "Stability", "basin_radius", "flip_exactly", "flip_signs", "measure_stability"],
        "crosstalk": [
            "bit_flip_gaussian",
            "bit_flip_limit",
            "bit_flip_probability",
            "crosstalk_law",
            "crosstalk_sums",
            "sample_unstable_bits",
        ],
        "capacity": [
            "CriticalPoint",
            "critical_load",
            "expected_unstable_bits",
            "logarithmic_capacity",
            "mean_field_overlap",
            "perfect_storage",
            "perfect_storage_limit",
            "retrieved_overlaps",
        ],
        "dense": [
            "Exponential",
            "Power",
            "dense_bit_error",
            "dense_capacity",
            "dense_energy",
            "dense_fields",
            "dense_path",
            "dense_retrieve",
        ],
        "modern": [
            "modern_associate",
            "modern_energy",
            "modern_retrieve",
            "modern_update",
            "modern_weights",
            "retrieval_bound",
            "separations",
        ],
    },
)

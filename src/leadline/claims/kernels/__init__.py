"""Feature maps, positive definite kernels, kernel machines, random features, strings, and learned features."""

SECTIONS = (
    "feature_maps",
    "kernel_functions",
    "machines",
    "mercer_and_rkhs",
    "random_features",
    "learned_features",
    "strings",
)

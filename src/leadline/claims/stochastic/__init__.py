"""Stochastic optimisation: oracles, SGD and its rates, averaging, variance reduction, chains, Gibbs distributions."""

SECTIONS = (
    "gradient_oracles",
    "confusion_zone",
    "sgd_convergence",
    "step_and_batch_rules",
    "averaging",
    "noisy_momentum",
    "variance_reduction",
    "finite_chains",
    "sgd_chains",
    "gibbs_and_langevin",
)

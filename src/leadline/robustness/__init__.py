"""Small changes of the input: attacks that find them, certificates that exclude them, training against them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "accuracy_brackets": ["AccuracyBracket", "accuracy_bracket", "half_radius"],
        "activation_regions": ["ExactRadius", "exact_radius", "nearest_point"],
        "attack_radii": ["AttackRadii", "best_of", "deepfool_radii", "pgd_radii", "radius_curve", "smallest_radii"],
        "deepfool_attack": ["DeepFooled", "deepfool"],
        "gradient_attacks": ["Attack", "attack_losses", "fgsm", "pgd", "runner_up_margin"],
        "interval_arithmetic": ["Interval"],
        "interval_bounds": ["NoIntervalRule", "interval_outputs"],
        "interval_certificates": ["certified", "interval_margins", "interval_radii", "margin_bounds"],
        "linear_distances": ["LinearScores", "boundary_distances", "linear_scores", "minimal_perturbation"],
        "linear_heads": ["HeadCheck", "check_head"],
        "lipschitz_certificates": [
            "LipschitzBracket",
            "largest_stretch",
            "lipschitz_bracket",
            "lipschitz_radii",
            "step_norm",
        ],
        "loss_brackets": ["LossBracket", "linear_robust_losses", "robust_loss_bracket"],
        "norm_projections": ["p_norm", "project", "random_in_ball", "rescale", "steepest_direction"],
        "robust_training": [
            "AttackedLoss",
            "IntervalLoss",
            "RobustlyTrained",
            "adversarial_training",
            "interval_training",
            "train_robustly",
            "worst_case_losses",
        ],
    },
)

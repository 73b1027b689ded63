"""Differentiation of networks by hand and by machine: backpropagation, tapes, modes, gradient checks."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "backward_pass": [
            "AdjointStep",
            "BackwardPass",
            "adjoint_steps",
            "backpropagate",
            "hand_differentiated",
            "network_loss",
        ],
        "checkpointing": ["CheckpointedGradient", "checkpointed_gradient"],
        "difference_table": ["STEPS", "DifferenceTable", "difference_table", "leaf_names"],
        "gradient_check": ["check_gradient", "check_layer"],
        "gradient_report": ["GradientReport", "ParameterCheck"],
        "input_gradients": ["input_gradient", "projected_sign_steps", "saliency", "sign_step"],
        "jacobians": [
            "JacobianReport",
            "composed_log_determinant",
            "jacobian_matrix",
            "jacobian_report",
            "layer_jacobians",
        ],
        "layer_pairs": [
            "LayerPair",
            "affine_pair",
            "chain_pair",
            "layer_norm_pair",
            "pointwise_pair",
            "residual_pair",
        ],
        "local_rules": ["RULES", "LocalRule", "sum_to_shape"],
        "loss_pairs": ["LOSS_PAIRS", "LossPair", "loss_pair"],
        "modes": ["CountedJacobian", "Dual", "Pulled", "Pushed", "forward_jacobian", "jvp", "reverse_jacobian", "vjp"],
        "operation_counts": ["MultiplyAdds", "jacobian_chain_multiply_adds", "network_multiply_adds"],
        "path_sums": ["LocalEdge", "PathSum", "diamond_chain", "local_edges", "sum_paths", "sweep_paths"],
        "tape": ["Tape", "TapeNode", "TapeStep", "Traced"],
        "tracers": ["Operations", "Tracer"],
    },
)

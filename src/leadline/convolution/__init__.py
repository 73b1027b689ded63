"""Layers that share weights over positions: sizes, receptive fields, and how far a model respects a symmetry."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "delayed_recall": ["Recall", "fit_recall"],
        "equivariance_defects": [
            "ActionFit", "Defect", "LayerDefects", "equivariance_defect", "fit_action", "homomorphism_defect",
            "invariance_defect", "layer_defects",
        ],
        "group_axioms": ["GroupVerdict", "group_test"],
        "image_transformations": [
            "Transformation", "central_crops", "circular_shifts", "compose", "flips", "interpolation_floor",
            "occlusions", "quarter_turns", "rotate_images", "rotations", "shift_images", "zero_shifts",
        ],
        "invariant_networks": ["ShiftInvariantNetwork", "circular_layer"],
        "layer_kinds": [
            "ConvLayer", "DenseLayer", "GroupLayer", "LocalLayer", "PoolLayer", "window_count", "window_layers",
        ],
        "receptive_fields": [
            "MeasuredField", "ReceptiveField", "StackNetwork", "drawn_stack", "gradient_field", "measure_field",
            "receptive_field", "uniform_field_deviation",
        ],
        "score_audits": ["Moved", "audit_scores", "built_in", "redraw_parameters", "usual_transformations"],
        "smooth_images": ["draw_blobs"],
        "stack_calculator": ["LayerRow", "StackCosts", "shared_weight_counts", "stack_costs"],
    },
)  # fmt: skip

"""Networks of finite width through their parameter gradients: tangent kernels, linearisation, flows, certificates."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "averaged_kernels": ["AveragedKernels", "averaged_ntk"],
        "certificates": ["Certificate", "CertifiedRun", "certified_descent", "certify"],
        "curvature": ["HessianRatio", "extreme_eigenpair", "hessian_gradient_ratio"],
        "descent_curves": ["DescentCurves", "descent_three_ways"],
        "description": ["NTKReport", "describe_ntk", "ntk_eigenvalues"],
        "drift": ["Drift", "ntk_drift"],
        "empirical": ["empirical_ntk", "layer_ntks"],
        "family_descent": ["FamilyRun", "family_kernels", "train_family"],
        "flows": ["gradient_flow"],
        "functions": ["NetworkFunction", "as_function"],
        "gradient_bounds": ["BallSearch", "Sandwich", "gradient_ratio", "sandwich_constants", "worst_in_ball"],
        "kernel_flows": ["KernelFlow", "functional_gradient"],
        "last_layer": [
            "FeatureSpectrum",
            "feature_spectrum",
            "last_layer_features",
            "last_layer_gram",
            "last_layer_limit",
        ],
        "least_squares": ["TangentFit", "off_span", "tangent_fit"],
        "linearisation": ["Linearised", "linearise"],
        "plan": ["LeafPlan", "NTKPlan", "ntk_plan"],
        "products": ["ntk_product"],
        "regimes": ["FEATURES", "LAZY", "Regime", "judge_regime", "linear_move"],
        "two_layer": ["TwoLayer", "lecun_two_layer"],
        "velocities": ["Dissipation", "OUTPUT_LOSSES", "OutputRisk", "dissipation", "output_velocity"],
        "wide_distances": ["WideDistance", "distance_to_wide", "shuffle_entries"],
    },
)

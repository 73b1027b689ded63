from . import dissection as dissection, embeddings as embeddings
from .activation_catalogue import activation_facts as activation_facts
from .activations import (
    ACTIVATIONS as ACTIVATIONS,
    activation as activation,
    gelu as gelu,
    gelu_derivative as gelu_derivative,
    gelu_tanh as gelu_tanh,
    heaviside as heaviside,
    inverse_sigmoid as inverse_sigmoid,
    leaky_relu as leaky_relu,
    preimage as preimage,
)
from .architectures.dense_connections import DenseNetwork as DenseNetwork
from .architectures.fully_connected import MLP as MLP
from .architectures.graphs import DagNetwork as DagNetwork, mlp_graph as mlp_graph
from .architectures.heads import TaskHead as TaskHead
from .architectures.image_classifiers import accuracy as accuracy
from .architectures.linear_networks import linear_network as linear_network
from .architectures.output_codes import (
    decode as decode,
    fit_output_code as fit_output_code,
    minimum_distance as minimum_distance,
    one_vs_one as one_vs_one,
    one_vs_rest as one_vs_rest,
    random_code as random_code,
)
from .architectures.residual import ResidualLayer as ResidualLayer, ResidualNetwork as ResidualNetwork
from .architectures.two_layer import TwoLayer as TwoLayer
from .features import (
    effective_rank as effective_rank,
    feature_statistics as feature_statistics,
    layer_features as layer_features,
    probe_accuracy as probe_accuracy,
)
from .flattening import flatten_parameters as flatten_parameters
from .initialisers import initialiser as initialiser, weight_moment as weight_moment
from .jacobian_rank import effective_parameters as effective_parameters, parameter_jacobian as parameter_jacobian
from .norm_duality import dual_exponent as dual_exponent, dual_maximiser as dual_maximiser
from .parameter_counts import (
    layer_costs as layer_costs,
    mlp_parameters as mlp_parameters,
    parameter_count as parameter_count,
    width_at_budget as width_at_budget,
)
from .signal.mean_field import (
    correlation_map as correlation_map,
    critical_gain as critical_gain,
    gaussian_expectation as gaussian_expectation,
    gradient_factor as gradient_factor,
    length_fixed_point as length_fixed_point,
    length_map as length_map,
)
from .signal.saturation import unit_activity as unit_activity
from .signal.signal import measure_signal as measure_signal, predict_signal as predict_signal
from .symmetry.conversions import mlp_from_affine as mlp_from_affine, relu_to_absolute as relu_to_absolute
from .symmetry.matching import (
    barrier as barrier,
    interpolate as interpolate,
    match_activations as match_activations,
    match_weights as match_weights,
    unit_correlations as unit_correlations,
)
from .symmetry.symmetries import (
    permute_units as permute_units,
    random_permutations as random_permutations,
    rescale_units as rescale_units,
)
from .transfer import refit_head as refit_head, with_features as with_features

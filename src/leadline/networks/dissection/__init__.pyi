from .chain_mean_field import predict_moments as predict_moments, why_no_mean_field as why_no_mean_field
from .dense_chains import (
    DenseChain as DenseChain,
    is_homogeneous as is_homogeneous,
    is_odd as is_odd,
    read_dense_chain as read_dense_chain,
)
from .dissecting import dissect as dissect
from .layer_moments import measure_moments as measure_moments
from .seen_inputs import centre_of as centre_of, input_sensitivity as input_sensitivity

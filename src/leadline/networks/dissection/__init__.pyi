from .chain_mean_field import predict_moments as predict_moments
from .dense_chains import is_homogeneous as is_homogeneous, is_odd as is_odd, read_dense_chain as read_dense_chain
from .dissecting import dissect as dissect
from .feature_maps import FeatureMap as FeatureMap, feature_maps as feature_maps
from .layer_moments import measure_moments as measure_moments
from .seen_inputs import input_sensitivity as input_sensitivity

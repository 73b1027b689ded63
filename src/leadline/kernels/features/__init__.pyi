from .boxes import (
    all_boxes as all_boxes,
    box_count as box_count,
    box_features as box_features,
    box_sums as box_sums,
    integral_image as integral_image,
)
from .feature_model import FeatureModel as FeatureModel
from .gabor import (
    filter_responses as filter_responses,
    gabor_bank as gabor_bank,
    gabor_features as gabor_features,
    gabor_filter as gabor_filter,
)
from .gabor_fits import fit_gabor as fit_gabor
from .kernel_targets import alignment as alignment
from .monomials import (
    monomial_features as monomial_features,
    multinomial_weights as multinomial_weights,
    paraboloid_lift as paraboloid_lift,
)
from .similarity import centred_cosine as centred_cosine
from .two_layer import draw_two_layer as draw_two_layer, train_two_layer as train_two_layer

from .boxes import (
    all_boxes as all_boxes,
    box_count as box_count,
    box_features as box_features,
    box_sums as box_sums,
    integral_image as integral_image,
    random_boxes as random_boxes,
)
from .feature_model import FeatureModel as FeatureModel
from .gabor import (
    filter_responses as filter_responses,
    gabor_bank as gabor_bank,
    gabor_features as gabor_features,
    gabor_filter as gabor_filter,
)
from .kernel_targets import alignment as alignment
from .monomials import (
    monomial_features as monomial_features,
    multinomial_weights as multinomial_weights,
    paraboloid_lift as paraboloid_lift,
)
from .neighbours import torus_neighbour_distances as torus_neighbour_distances
from .similarity import (
    centred_cosine as centred_cosine,
    pair_similarities as pair_similarities,
    similarity_auc as similarity_auc,
)
from .two_layer import (
    draw_two_layer as draw_two_layer,
    stack_networks as stack_networks,
    train_two_layer as train_two_layer,
    two_layer_loss as two_layer_loss,
)

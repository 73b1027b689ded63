from .accuracy_brackets import accuracy_bracket as accuracy_bracket
from .activation_regions import exact_radius as exact_radius
from .attacks.attack_radii import (
    deepfool_radii as deepfool_radii,
    pgd_radii as pgd_radii,
    radius_curve as radius_curve,
    smallest_radii as smallest_radii,
)
from .attacks.deepfool_attack import deepfool as deepfool
from .attacks.gradient_attacks import (
    attack_losses as attack_losses,
    fgsm as fgsm,
    pgd as pgd,
    runner_up_margin as runner_up_margin,
)
from .attacks.norm_projections import (
    p_norm as p_norm,
    random_in_ball as random_in_ball,
    steepest_direction as steepest_direction,
)
from .certificates.interval_bounds import NoIntervalRule as NoIntervalRule, interval_outputs as interval_outputs
from .certificates.interval_certificates import interval_margins as interval_margins
from .certificates.lipschitz_certificates import (
    lipschitz_bracket as lipschitz_bracket,
    lipschitz_radii as lipschitz_radii,
)
from .input_boxes import Box as Box
from .linear_distances import boundary_distances as boundary_distances
from .linear_heads import check_head as check_head
from .loss_brackets import robust_loss_bracket as robust_loss_bracket
from .robust_training import adversarial_training as adversarial_training, interval_training as interval_training

from .capacity.capacity_calculator import (
    bits_bound as bits_bound,
    finite_class_bound as finite_class_bound,
    vc_inequality as vc_inequality,
    vc_schematic as vc_schematic,
)
from .capacity.rademacher_averages import (
    linear_ball_ceiling as linear_ball_ceiling,
    massart_ceiling as massart_ceiling,
    rademacher_bound as rademacher_bound,
    rademacher_of_linear_ball as rademacher_of_linear_ball,
    rademacher_of_patterns as rademacher_of_patterns,
)
from .dense_chain_bounds import chain_bounds as chain_bounds
from .held_out_bounds import (
    chernoff_test_bound as chernoff_test_bound,
    exact_interval as exact_interval,
    exact_test_bound as exact_test_bound,
    hoeffding_test_bound as hoeffding_test_bound,
)
from .memorisation.head_influence import fit_head as fit_head
from .memorisation.label_probes import fit_labels as fit_labels
from .memorisation.randomisation_tests import corrupted as corrupted, randomisation_test as randomisation_test
from .network_certificates import network_certificate as network_certificate
from .network_norms import (
    class_margins as class_margins,
    path_norms as path_norms,
    spectral_complexity as spectral_complexity,
)
from .pac_bayes_bounds import (
    bernoulli_kl as bernoulli_kl,
    diagonal_gaussian_kl as diagonal_gaussian_kl,
    kl_inverse as kl_inverse,
    pac_bayes_bound as pac_bayes_bound,
    sampled_pac_bayes_bound as sampled_pac_bayes_bound,
)
from .posterior_training import (
    reparameterised_gradient as reparameterised_gradient,
    score_gradient as score_gradient,
    train_posterior as train_posterior,
)

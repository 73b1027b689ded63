from . import features as features, machines as machines
from .algebra import Centred as Centred, Kernel as Kernel, Normalised as Normalised
from .approximations.fourier import (
    draw_fourier_features as draw_fourier_features,
    fourier_variance as fourier_variance,
    spectral_frequencies as spectral_frequencies,
)
from .approximations.low_rank import (
    best_rank_errors as best_rank_errors,
    greedy_landmarks as greedy_landmarks,
    leverage_landmarks as leverage_landmarks,
    nystrom as nystrom,
    ridge_leverage as ridge_leverage,
    uniform_landmarks as uniform_landmarks,
)
from .gram.gram_cost import choose_method as choose_method, gram_cost_of as gram_cost_of
from .gram.sharding import sharded_gram as sharded_gram
from .gram.tiles import gram as gram
from .inner_product import (
    Affine as Affine,
    ArcCosine as ArcCosine,
    ArcSine as ArcSine,
    Linear as Linear,
    Polynomial as Polynomial,
)
from .integral import IntegralKernel as IntegralKernel
from .mercer import mercer_expansion as mercer_expansion
from .minimum import Minimum as Minimum
from .pairs import squared_distances as squared_distances
from .rkhs import (
    function_geometry as function_geometry,
    interpolant_norms as interpolant_norms,
    rkhs_inner as rkhs_inner,
    rkhs_norm as rkhs_norm,
)
from .stationary import Gaussian as Gaussian, Laplace as Laplace, Matern32 as Matern32, Matern52 as Matern52
from .strings.edit_distance import (
    edit_distances as edit_distances,
    edit_similarity as edit_similarity,
    relative_edit_similarity as relative_edit_similarity,
)
from .strings.subsequences import Subsequence as Subsequence
from .validity.hunting import hunt as hunt
from .validity.positivity import centre_gram as centre_gram, nearest_kernel as nearest_kernel, spectrum as spectrum

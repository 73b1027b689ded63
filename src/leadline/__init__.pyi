from . import (
    audits as audits,
    bayes as bayes,
    chains as chains,
    claims as claims,
    convolution as convolution,
    curvature as curvature,
    data as data,
    differentiation as differentiation,
    evidence as evidence,
    generalisation as generalisation,
    geometry as geometry,
    infinite_width as infinite_width,
    kernels as kernels,
    landscape as landscape,
    learning as learning,
    linear_classifiers as linear_classifiers,
    memories as memories,
    networks as networks,
    neurons as neurons,
    optimisation as optimisation,
    presentation as presentation,
    probability as probability,
    regularisation as regularisation,
    robustness as robustness,
    sequences as sequences,
    stochastic as stochastic,
    studies as studies,
    tangent as tangent,
    training as training,
)
from .claims import check as check
from .frameworks.network import Network as Network
from .frameworks.opening import as_apply as as_apply
from .studies.studying import study as study

__version__: str

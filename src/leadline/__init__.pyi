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
    robustness as robustness,
    sequences as sequences,
    stochastic as stochastic,
    studies as studies,
    tangent as tangent,
    training as training,
)
from ._network import Network as Network, as_apply as as_apply
from .claims import check as check
from .studies.studying import study as study

__version__: str

from .delayed_recall import fit_recall as fit_recall
from .estimation.filtering import KalmanFilter as KalmanFilter, kalman_filter as kalman_filter
from .estimation.joint_distribution import joint_distribution as joint_distribution
from .estimation.maximum_likelihood import maximise_likelihood as maximise_likelihood
from .estimation.point_mass import point_mass_filter as point_mass_filter
from .estimation.simulation import NOISES as NOISES, simulate as simulate
from .estimation.smoothing import kalman_smoother as kalman_smoother
from .estimation.state_space import (
    LinearGaussian as LinearGaussian,
    diffuse_start as diffuse_start,
    linear_gaussian as linear_gaussian,
    observability_matrix as observability_matrix,
)
from .estimation.steady_state import riccati_path as riccati_path, steady_state as steady_state
from .estimation.whiteness import ljung_box as ljung_box

from .delayed_recall import fit_recall as fit_recall
from .gradients.elman_backward import elman_backward as elman_backward, elman_forward as elman_forward
from .gradients.lag_decomposition import gradient_by_lag as gradient_by_lag
from .gradients.state_jacobians import (
    jacobian_product_norms as jacobian_product_norms,
    jacobian_product_spectrum as jacobian_product_spectrum,
    lyapunov_exponents as lyapunov_exponents,
    state_jacobians as state_jacobians,
)
from .gradients.state_vectors import overflow_step as overflow_step, trajectory as trajectory
from .gradients.truncated import (
    CarriedWindows as CarriedWindows,
    consecutive_windows as consecutive_windows,
    random_chunks as random_chunks,
    truncated_trajectory as truncated_trajectory,
)

"""statsmodels' Kalman filter, on the level below its models: nothing but the filter is timed."""

import numpy as np

from ..harness.case import Inputs


def filtered(inputs: Inputs):
    from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

    A, C, Q, R, xs = (inputs[name] for name in ("A", "C", "Q", "R", "xs"))
    d = len(A)
    side = KalmanFilter(k_endog=1, k_states=d)
    side["transition"], side["design"], side["selection"] = A, C, np.eye(d)
    side["state_cov"], side["obs_cov"] = Q, R
    side.bind(np.ascontiguousarray(xs))
    # Its prior is that of the first state that is seen, ours of the one before.
    side.initialize_known(np.zeros(d), 100.0 * A @ A.T + Q)
    return side.filter, lambda found: found.filtered_state.T

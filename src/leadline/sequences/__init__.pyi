from .delayed_recall import fit_recall as fit_recall
from .linear_recurrences.diagonal_recurrence import (
    linear_recurrence as linear_recurrence,
    log_space_recurrence as log_space_recurrence,
)
from .linear_recurrences.diagonalisation import (
    diagonalise as diagonalise,
    eigenvalue_gaps as eigenvalue_gaps,
    perturbed_jordan_block as perturbed_jordan_block,
)
from .linear_recurrences.input_windows import recover_window as recover_window, window_matrix as window_matrix
from .linear_recurrences.prefix_scans import prefix_scan as prefix_scan
from .linear_recurrences.stability import power_norms as power_norms, recurrence_stability as recurrence_stability
from .linear_recurrences.state_space import LinearStateSpace as LinearStateSpace

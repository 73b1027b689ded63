from .cells.bidirectional import Bidirectional as Bidirectional
from .cells.building import sequence_network as sequence_network
from .cells.cell import Cell as Cell, Course as Course, run as run, valid_steps as valid_steps
from .cells.elman import Elman as Elman, Recurrence as Recurrence, deep_transition as deep_transition
from .cells.gru import GRU as GRU
from .cells.light_gru import LightGRU as LightGRU
from .cells.linear_cell import LinearCell as LinearCell, recurrence_scan as recurrence_scan
from .cells.lru import LRU as LRU
from .cells.lstm import LSTM as LSTM, LSTMState as LSTMState
from .cells.mingru import MinGRU as MinGRU
from .cells.sequence_network import SequenceNetwork as SequenceNetwork
from .cells.stack import ResidualBlock as ResidualBlock, Stack as Stack
from .delayed_recall import fit_recall as fit_recall
from .gradients.elman_backward import elman_backward as elman_backward, elman_forward as elman_forward
from .gradients.lag_decomposition import gradient_by_lag as gradient_by_lag
from .gradients.orthogonal_steps import (
    cayley_step as cayley_step,
    orthogonality_defect as orthogonality_defect,
    retract as retract,
    retracted as retracted,
)
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
from .gradients.two_step_exercise import (
    TwoStep as TwoStep,
    first_wrong_term as first_wrong_term,
    two_step_adjoints as two_step_adjoints,
    two_step_loss as two_step_loss,
)
from .memory.horizons import (
    context_accuracy as context_accuracy,
    gradient_transport as gradient_transport,
    horizon as horizon,
    influence as influence,
    recall_correlation as recall_correlation,
    replaced_influence as replaced_influence,
)
from .memory.memory_bench import memory_bench as memory_bench
from .memory.recall_tasks import recall_task as recall_task
from .memory.saturation import saturation as saturation, unit_values as unit_values

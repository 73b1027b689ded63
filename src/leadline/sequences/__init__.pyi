from .cells.bidirectional import Bidirectional as Bidirectional
from .cells.building import sequence_network as sequence_network
from .cells.cell import Cell as Cell, Course as Course, run as run, valid_steps as valid_steps
from .cells.elman import Elman as Elman, Recurrence as Recurrence, deep_transition as deep_transition
from .cells.gating import memory_half_life as memory_half_life, soft_gate as soft_gate
from .cells.gru import GRU as GRU
from .cells.light_gru import LightGRU as LightGRU
from .cells.linear_cell import LinearCell as LinearCell
from .cells.lru import LRU as LRU
from .cells.lstm import LSTM as LSTM, LSTMState as LSTMState
from .cells.mingru import MinGRU as MinGRU
from .cells.sequence_network import SequenceNetwork as SequenceNetwork
from .cells.stack import ResidualBlock as ResidualBlock, Stack as Stack
from .delayed_recall import fit_recall as fit_recall
from .estimation.filtering import KalmanFilter as KalmanFilter, kalman_filter as kalman_filter
from .estimation.joint_distribution import joint_distribution as joint_distribution
from .estimation.learned_estimators import (
    estimates_of as estimates_of,
    fit_estimators as fit_estimators,
    grade_estimates as grade_estimates,
)
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
from .learning.sequence_losses import (
    SequenceObjective as SequenceObjective,
    Sequences as Sequences,
    next_tokens as next_tokens,
)
from .learning.toy_tasks import (
    adding_bits as adding_bits,
    associative_recall as associative_recall,
    recall_task as recall_task,
    running_parity as running_parity,
    shifted_bits as shifted_bits,
)
from .learning.unrolling import Unrolled as Unrolled, last_state as last_state, unroll as unroll
from .linear_recurrences.diagonal_recurrence import (
    linear_recurrence as linear_recurrence,
    log_space_recurrence as log_space_recurrence,
)
from .linear_recurrences.diagonalisation import (
    diagonalise as diagonalise,
    eigenvalue_gaps as eigenvalue_gaps,
    perturbed_jordan_block as perturbed_jordan_block,
)
from .linear_recurrences.evaluation import computed_by as computed_by
from .linear_recurrences.input_windows import recover_window as recover_window, window_matrix as window_matrix
from .linear_recurrences.prefix_scans import prefix_scan as prefix_scan
from .linear_recurrences.stability import power_norms as power_norms, recurrence_stability as recurrence_stability
from .linear_recurrences.state_space import LinearStateSpace as LinearStateSpace
from .memory.horizons import (
    context_accuracy as context_accuracy,
    gradient_transport as gradient_transport,
    horizon as horizon,
    influence as influence,
    recall_correlation as recall_correlation,
    replaced_influence as replaced_influence,
)
from .memory.memory_bench import memory_bench as memory_bench
from .memory.saturation import saturation as saturation, unit_values as unit_values
from .memory.sufficiency_gap import linear_state_gap as linear_state_gap, sufficiency_gap as sufficiency_gap
from .text.decoding import (
    beam_search as beam_search,
    greedy_decode as greedy_decode,
    sample_decode as sample_decode,
    truncate_to_nucleus as truncate_to_nucleus,
)
from .text.ngrams import NGramModel as NGramModel, fit_ngrams as fit_ngrams
from .text.perplexity import TextScore as TextScore, perplexity as perplexity, score_text as score_text
from .translation.encoder_decoder import (
    EncoderDecoder as EncoderDecoder,
    exact_matches as exact_matches,
    text_log_probability as text_log_probability,
    translate_sequences as translate_sequences,
)
from .translation.exposure import (
    decoding_exposure as decoding_exposure,
    forecast_exposure as forecast_exposure,
    predicted_horizon as predicted_horizon,
)
from .translation.forcing import (
    Pairs as Pairs,
    ScheduledSampling as ScheduledSampling,
    roll_out as roll_out,
    teacher_forcing as teacher_forcing,
)
from .translation.pair_tasks import copy_pairs as copy_pairs, date_pairs as date_pairs, number_pairs as number_pairs

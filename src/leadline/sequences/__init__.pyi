from .cells.bidirectional import Bidirectional as Bidirectional
from .cells.building import sequence_network as sequence_network
from .cells.cell import Cell as Cell, Course as Course, run as run, valid_steps as valid_steps
from .cells.elman import Elman as Elman, Recurrence as Recurrence, deep_transition as deep_transition
from .cells.gating import memory_half_life as memory_half_life, soft_gate as soft_gate
from .cells.gru import GRU as GRU
from .cells.light_gru import LightGRU as LightGRU
from .cells.linear_cell import LinearCell as LinearCell, recurrence_scan as recurrence_scan
from .cells.lru import LRU as LRU
from .cells.lstm import LSTM as LSTM, LSTMState as LSTMState
from .cells.mingru import MinGRU as MinGRU
from .cells.sequence_network import SequenceNetwork as SequenceNetwork
from .cells.stack import ResidualBlock as ResidualBlock, Stack as Stack
from .delayed_recall import fit_recall as fit_recall
from .learning.sequence_losses import (
    SequenceObjective as SequenceObjective,
    Sequences as Sequences,
    next_tokens as next_tokens,
)
from .learning.toy_tasks import (
    adding_bits as adding_bits,
    associative_recall as associative_recall,
    marked_value as marked_value,
    running_parity as running_parity,
    shifted_bits as shifted_bits,
)
from .learning.unrolling import Unrolled as Unrolled, last_state as last_state, unroll as unroll

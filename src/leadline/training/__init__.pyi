from . import recipes as recipes
from .checkpoints import Checkpoints as Checkpoints, StorageFull as StorageFull
from .descent import Steps as Steps, minimise as minimise, scan_steps as scan_steps
from .divergence import Diverged as Diverged
from .engine.engine import apply_rule as apply_rule
from .engine.layout import Layout as Layout
from .engine.objective import RowLosses as RowLosses
from .engine.players import Player as Player
from .engine.recording import Recorder as Recorder
from .fitting import fit as fit
from .many import fit_many as fit_many
from .objectives import checked_sample as checked_sample, one_hot_squared_error as one_hot_squared_error
from .remembered import remembered as remembered
from .weights import load_weights as load_weights, save_weights as save_weights

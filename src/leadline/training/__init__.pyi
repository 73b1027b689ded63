from . import recipes as recipes
from .checkpoints import Checkpoints as Checkpoints, StorageFull as StorageFull
from .descent import apply_rule as apply_rule, minimise as minimise
from .divergence import Diverged as Diverged
from .fitting import fit as fit
from .many import fit_many as fit_many
from .objectives import checked_sample as checked_sample, one_hot_squared_error as one_hot_squared_error
from .weights import load_weights as load_weights, save_weights as save_weights

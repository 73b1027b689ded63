from .config_file import RecipeError as RecipeError, parse_recipe as parse_recipe, read_recipe as read_recipe
from .infinite_twin import Twin as Twin
from .named_models import build_model as build_model
from .named_optimisers import build_optimiser as build_optimiser, learning_rate as learning_rate
from .row_losses import row_loss as row_loss
from .run_directory import Outcome as Outcome, RunExists as RunExists, train as train
from .settings import Recipe as Recipe
from .trained_runs import (
    TrainedRun as TrainedRun,
    outputs_of as outputs_of,
    read_run as read_run,
    trained_here as trained_here,
    untrained_here as untrained_here,
)

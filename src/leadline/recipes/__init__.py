"""Training runs described by a file: data, model, optimiser and where the results go."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "config_file": ["RecipeError", "example", "parse_recipe", "read_recipe"],
        "infinite_twin": ["Twin", "WideResult", "widen"],
        "named_models": ["MODELS", "build_model"],
        "named_optimisers": ["OPTIMISERS", "build_optimiser", "learning_rate"],
        "row_losses": ["RecipeLoss", "row_loss"],
        "run_directory": ["Outcome", "RunExists", "train"],
        "settings": ["Recipe"],
        "trained_runs": ["RowLosses", "TrainedRun", "outputs_of", "read_run", "trained_here", "untrained_here"],
    },
)

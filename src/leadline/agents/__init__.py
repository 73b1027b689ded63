"""Agents that sense, search, decide and learn their way: small closed loops with exact answers beside them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "decision": ["DecisionProblem", "binary_channel", "value_of_prior"],
        "maze": ["MazeRun", "loop_erased", "maze_run", "maze_walk", "stored_path"],
        "prior_search": [
            "expected_looks",
            "geometric_prior",
            "learned_prior",
            "look_ranks",
            "looks_deviation",
            "simulated_looks",
            "zipf_prior",
        ],
        "sensing": ["POLICIES", "Search", "SearchWorld", "search_times"],
    },
)

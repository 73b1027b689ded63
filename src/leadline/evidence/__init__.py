"""The evidence engine: comparisons, claims, findings, figures, and what runs, keeps and attacks them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submodules=["figure"],
    submod_attrs={
        "comparison": ["Comparison", "Inapplicable", "Verdict", "assume", "printed"],
        "execution": ["run_entry", "versions"],
        "falsifier": ["Attack", "falsify"],
        "finding": ["Finding"],
        "parameters": ["BadInput", "Choice", "Parameter", "Range", "resolve"],
        "registry": ["KINDS", "Entry", "claim", "entries", "entry", "instrument", "method", "model"],
        "relations": [
            "at_least", "at_most", "close", "counts_as", "distributed_as", "exactly", "frequency", "mean",
            "same_distribution", "slope", "smaller",
        ],
        "runner": ["Task", "Workers", "run_tasks"],
        "sources": ["SOURCES", "Source"],
        "store": ["RunDirectory"],
    },
)  # fmt: skip

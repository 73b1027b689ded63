"""Linear dichotomies: which labelings of points a hyperplane can realise, and how many there are."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "labelings": ["Realisation", "all_labelings", "realise"],
        "cells": ["Cells", "count_dichotomies", "enumerate_cells"],
        "position": ["GeneralPosition", "general_position"],
        "cover": ["cover_count", "cover_share", "cover_table", "points_at_share"],
        "boolean_functions": ["hypercube", "linear_functions", "symmetry_classes"],
    },
)

"""Figures: one declarative type on Altair; a prediction is a line and a measurement is points, everywhere."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "canvas": ["Figure", "beside"],
        "curve": ["bars", "curves", "histogram"],
        "grid": ["heatmap", "images"],
        "planar": ["graph", "plane"],
    },
)

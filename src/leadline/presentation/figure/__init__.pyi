from .canvas import beside as beside
from .curve import bars as bars, curves as curves, histogram as histogram
from .grid import heatmap as heatmap, images as images
from .planar import graph as graph, plane as plane

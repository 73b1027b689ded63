from .canvas import beside as beside
from .category import categories as categories
from .curve import bars as bars, curves as curves, histogram as histogram
from .grid import heatmap as heatmap, images as images
from .narrow import narrow as narrow
from .planar import graph as graph, plane as plane

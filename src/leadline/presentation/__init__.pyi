from . import figure as figure

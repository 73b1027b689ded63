from .hard_margin import max_margin as max_margin
from .hinge import soft_margin as soft_margin
from .mistake_bounds import mistake_bound as mistake_bound
from .point_margin import data_margin as data_margin, network_margins as network_margins, point_margins as point_margins
from .separation import separate as separate
from .version_space import version_arcs as version_arcs, version_share as version_share

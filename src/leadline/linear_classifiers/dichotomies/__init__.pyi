from .cells import count_dichotomies as count_dichotomies, enumerate_cells as enumerate_cells
from .cover import cover_count as cover_count
from .labelings import all_labelings as all_labelings, realise as realise
from .position import general_position as general_position

from .layer_structure import layer_structure as layer_structure
from .traced_program import traced_program as traced_program

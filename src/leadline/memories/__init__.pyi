from .capacity import critical_load as critical_load, mean_field_overlap as mean_field_overlap
from .crosstalk import bit_flip_limit as bit_flip_limit, sample_unstable_bits as sample_unstable_bits
from .dense import (
    Power as Power,
    dense_energy as dense_energy,
    dense_fields as dense_fields,
    dense_path as dense_path,
    dense_retrieve as dense_retrieve,
)
from .dynamics import asynchronous as asynchronous, glauber as glauber, synchronous as synchronous
from .hopfield import (
    FactoredHopfield as FactoredHopfield,
    HopfieldNetwork as HopfieldNetwork,
    energy as energy,
    overlaps as overlaps,
)
from .modern import (
    modern_energy as modern_energy,
    modern_retrieve as modern_retrieve,
    modern_update as modern_update,
    modern_weights as modern_weights,
    retrieval_bound as retrieval_bound,
    separations as separations,
)
from .stability import basin_radius as basin_radius, flip_signs as flip_signs, measure_stability as measure_stability
from .storage import (
    add_pattern as add_pattern,
    hebbian as hebbian,
    hebbian_network as hebbian_network,
    projection as projection,
    projection_network as projection_network,
)

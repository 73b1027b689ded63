from .groups.equivariant_maps import (
    equivariant_basis as equivariant_basis,
    equivariant_dimension as equivariant_dimension,
    span_distance as span_distance,
)
from .groups.finite_group import FiniteGroup as FiniteGroup, TableFault as TableFault, table_fault as table_fault
from .groups.group_actions import (
    GroupAction as GroupAction,
    action_fault as action_fault,
    left_translation as left_translation,
)
from .groups.group_convolutions import (
    group_convolution as group_convolution,
    group_convolution_matrix as group_convolution_matrix,
    translate as translate,
)
from .groups.haar_measures import affine_integral as affine_integral, circle_mean as circle_mean
from .groups.named_groups import (
    cyclic_group as cyclic_group,
    dihedral_group as dihedral_group,
    generated_group as generated_group,
    plane_group as plane_group,
    product_group as product_group,
    symmetric_group as symmetric_group,
    symmetric_permutations as symmetric_permutations,
)
from .groups.representations import (
    Representation as Representation,
    character_table as character_table,
    multiplicities as multiplicities,
    permutation_representation as permutation_representation,
    regular_representation as regular_representation,
    rotation_representation as rotation_representation,
    trivial_representation as trivial_representation,
)
from .groups.smoothing import random_rotation as random_rotation, sampled_smooth as sampled_smooth, smooth as smooth
from .groups.symmetry_defects import (
    SymmetryDefect as SymmetryDefect,
    permute_rows as permute_rows,
    relabel_nodes as relabel_nodes,
    symmetry_defect as symmetry_defect,
)

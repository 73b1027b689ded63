"""Groups and symmetry."""

MODULES = ("finite_groups", "averages", "equivariant_maps", "symmetry_defects")

from . import deep_linear as deep_linear, sloppiness as sloppiness
from .critical_points.null_space_probes import probe_null_space as probe_null_space
from .critical_points.refinement import refine_critical_point as refine_critical_point
from .critical_points.reports import (
    critical_point_report as critical_point_report,
    labels_by_necessary_conditions as labels_by_necessary_conditions,
)
from .examples.quadratic_models import local_quadratic as local_quadratic, trust_radii as trust_radii
from .examples.quartic_landscapes import (
    QuarticLandscape as QuarticLandscape,
    coupled_wells as coupled_wells,
    quartic_landscape as quartic_landscape,
)
from .examples.well_landscapes import (
    WellLandscape as WellLandscape,
    basin_masses as basin_masses,
    laplace_masses as laplace_masses,
)
from .paths.almost_convex_paths import (
    almost_convex_path as almost_convex_path,
    lipschitz_outer_bound as lipschitz_outer_bound,
    normalise_rows as normalise_rows,
    row_covering as row_covering,
    squared_outer_bound as squared_outer_bound,
)
from .paths.elastic_band import relax_band as relax_band
from .paths.mode_connectors import (
    Curve as Curve,
    aligned_line as aligned_line,
    path_profile as path_profile,
    straight_line as straight_line,
    train_curve as train_curve,
)
from .surfaces.loss_surfaces import loss_surface as loss_surface, slice_curvatures as slice_curvatures
from .surfaces.random_coverings import cap_fraction as cap_fraction, cap_radius as cap_radius
from .surfaces.slice_directions import (
    checkpoint_plane as checkpoint_plane,
    filter_normalised as filter_normalised,
    random_directions as random_directions,
)
from .surfaces.sublevel_sets import merge_tree as merge_tree, sublevel_components as sublevel_components
from .two_layer_fits import (
    fit_two_layer as fit_two_layer,
    random_two_layer as random_two_layer,
    softmax_loss as softmax_loss,
    squared_loss as squared_loss,
)
from .weight_averaging import (
    RunningAverage as RunningAverage,
    greedy_soup as greedy_soup,
    uniform_average as uniform_average,
)

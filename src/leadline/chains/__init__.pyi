from .analysis import (
    analyse as analyse,
    closed_classes as closed_classes,
    communicating_classes as communicating_classes,
)
from .annealing import (
    annealed_laws as annealed_laws,
    annealed_runs as annealed_runs,
    logarithmic_cooling as logarithmic_cooling,
    parallel_tempering as parallel_tempering,
    staged_cooling as staged_cooling,
)
from .finite import FiniteChain as FiniteChain
from .gibbs import (
    gibbs_law as gibbs_law,
    kramers_time as kramers_time,
    laplace_log_partition as laplace_log_partition,
    occupancy_crossover as occupancy_crossover,
    partition_function as partition_function,
    thermodynamic_log_partition as thermodynamic_log_partition,
)
from .grid import (
    even_grid as even_grid,
    gaussian_kernel as gaussian_kernel,
    sgd_kernel as sgd_kernel,
    splitting_kernel as splitting_kernel,
)
from .invariant import (
    hitting_times as hitting_times,
    invariant_law as invariant_law,
    invariant_laws as invariant_laws,
    return_times as return_times,
)
from .langevin import IsotropicLangevin as IsotropicLangevin, langevin_paths as langevin_paths
from .mixing import (
    fundamental_matrix as fundamental_matrix,
    mixing_time as mixing_time,
    time_average_variance as time_average_variance,
    total_variation as total_variation,
)
from .named_chains import (
    birth_death_chain as birth_death_chain,
    cycle_chain as cycle_chain,
    lazy_chain as lazy_chain,
    mole_chain as mole_chain,
    random_irreducible_chain as random_irreducible_chain,
    two_state_chain as two_state_chain,
)
from .rational import RationalChain as RationalChain
from .reversal import currents as currents, metropolis_chain as metropolis_chain, reverse_chain as reverse_chain
from .temperature import measure_temperatures as measure_temperatures

"""Model neurons: threshold units, Boolean circuits, spiking membranes, and a simulator that holds them all."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "brain": ["BRAIN", "Brain", "Budget", "budget"],
        "hodgkin_huxley": ["HodgkinHuxley", "MembraneState", "Trace", "spike_width"],
        "integrate_and_fire": ["IntegrateAndFire", "SpikeTrain"],
        "pdp": ["SLOTS", "PDPRun", "PDPSystem", "fixed"],
        "pdp_presets": ["hopfield_system", "layered_system", "mcculloch_pitts_system", "perceptron_system"],
        "spiking": ["firing_rate", "spike_count", "upward_crossings"],
        "boolean": ["ThresholdNetwork", "compile_truth_table", "compiled_share", "functions_with_hidden_units"],
        "threshold": ["ThresholdUnit", "binary_inputs", "gate", "realised_tables", "truth_table"],
    },
)

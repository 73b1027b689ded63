from . import agents as agents, coding as coding
from .boolean import ThresholdNetwork as ThresholdNetwork, compile_truth_table as compile_truth_table
from .brain import budget as budget
from .hodgkin_huxley import HodgkinHuxley as HodgkinHuxley
from .integrate_and_fire import IntegrateAndFire as IntegrateAndFire
from .pdp import PDPSystem as PDPSystem
from .pdp_presets import (
    hopfield_system as hopfield_system,
    layered_system as layered_system,
    mcculloch_pitts_system as mcculloch_pitts_system,
    perceptron_system as perceptron_system,
)
from .spiking import firing_rate as firing_rate, spike_count as spike_count
from .threshold import (
    ThresholdUnit as ThresholdUnit,
    binary_inputs as binary_inputs,
    gate as gate,
    realised_tables as realised_tables,
    truth_table as truth_table,
)

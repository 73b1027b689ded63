"""Foolbox's FGSM and PGD, from the inputs themselves."""

import foolbox

from ..harness.case import Inputs
from . import EPS, STEP, STEPS
from .torch_network import attacked, share_fooled


def one_step(inputs: Inputs):
    network, x, y = attacked(inputs)
    model = foolbox.PyTorchModel(network, bounds=(0, 1), device="cpu")
    attack = foolbox.attacks.LinfFastGradientAttack(random_start=False)
    return lambda: attack(model, x, y, epsilons=EPS)[1].mean(dim=1).numpy()


def many_steps(inputs: Inputs):
    network, x, y = attacked(inputs)
    model = foolbox.PyTorchModel(network, bounds=(0, 1), device="cpu")
    attack = foolbox.attacks.LinfPGD(abs_stepsize=STEP, steps=STEPS, random_start=False)
    return lambda: share_fooled(network, attack(model, x, y, epsilons=EPS)[1], y)

"""torchattacks' FGSM and PGD, from the inputs themselves."""

import torchattacks

from ..harness.case import Inputs
from . import EPS, STEP, STEPS
from .torch_network import attacked, share_fooled


def one_step(inputs: Inputs):
    network, x, y = attacked(inputs)
    attack = torchattacks.FGSM(network, eps=EPS)
    return lambda: attack(x, y).detach().mean(dim=1).numpy()


def many_steps(inputs: Inputs):
    network, x, y = attacked(inputs)
    attack = torchattacks.PGD(network, eps=EPS, alpha=STEP, steps=STEPS, random_start=False)
    return lambda: share_fooled(network, attack(x, y), y)

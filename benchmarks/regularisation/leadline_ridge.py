"""Leadline's leave-one-out errors of a path of penalties."""

from leadline.regularisation import ridge_leave_one_out

from ..harness.case import Inputs


def leave_one_out(inputs: Inputs):
    x, y, alphas = inputs["x"], inputs["y"], inputs["alphas"]
    return lambda: ridge_leave_one_out(x, y, alphas).errors

"""Hessian, Gauss-Newton, Fisher and gradient moments as operators on a parameter pytree."""

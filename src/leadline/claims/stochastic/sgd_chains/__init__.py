"""SGD as a Markov chain."""

MODULES = ("markov_steps", "invariant_distributions", "transition_kernels")

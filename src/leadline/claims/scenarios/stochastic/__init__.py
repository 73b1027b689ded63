"""Set-ups that the chapter stochastic shares."""

"""Set-ups that the chapter optimisation shares."""

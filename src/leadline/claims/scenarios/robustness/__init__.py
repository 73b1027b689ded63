"""Set-ups that the chapter robustness shares."""

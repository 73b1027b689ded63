"""Set-ups of the chapter on sequences."""

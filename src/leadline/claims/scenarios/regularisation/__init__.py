"""Set-ups that the chapter regularisation shares."""

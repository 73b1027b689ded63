"""Set-ups that the chapter landscape shares."""

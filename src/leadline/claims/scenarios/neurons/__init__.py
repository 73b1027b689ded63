"""Set-ups that the chapter neurons shares."""

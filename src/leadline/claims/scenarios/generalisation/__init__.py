"""Set-ups that the chapter generalisation shares."""

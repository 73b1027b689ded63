"""Set-ups that several claims share, made once a process."""

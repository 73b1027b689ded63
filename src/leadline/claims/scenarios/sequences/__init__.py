"""Set-ups of the chapter on sequences: texts, and networks that read and write sequences."""

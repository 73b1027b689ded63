"""Set-ups of the chapter on sequences."""
"""Texts, and networks that read and write sequences."""

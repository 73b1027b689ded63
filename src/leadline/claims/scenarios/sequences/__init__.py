"""Texts, and networks that read and write sequences."""

"""Sequences: optimal recursive estimation, recurrent networks and their gradients, gates, linear recurrences, text."""

SECTIONS = ("estimation",)

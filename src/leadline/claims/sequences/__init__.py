"""Sequences: recursive estimation, recurrent networks, linear recurrences, text, sequence to sequence."""

SECTIONS = ("gradients_through_time",)

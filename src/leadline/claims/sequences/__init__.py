"""Sequences: recursive estimation, recurrent networks, linear recurrences, text, sequence to sequence."""

SECTIONS = ("linear_recurrences", "text", "sequence_to_sequence")

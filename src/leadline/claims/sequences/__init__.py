"""Sequences: recursive estimation, recurrent networks, linear recurrences, text, sequence to sequence."""

SECTIONS = ("recurrent_networks", "gated_cells", "linear_recurrences", "bidirectional", "text", "sequence_to_sequence")

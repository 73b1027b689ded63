"""Sequences: optimal recursive estimation, recurrent networks and their gradients, gates, recurrences, text."""

SECTIONS = (
    "estimation",
    "recurrent_networks",
    "gradients_through_time",
    "gated_cells",
    "linear_recurrences",
    "bidirectional",
    "text",
    "sequence_to_sequence",
)

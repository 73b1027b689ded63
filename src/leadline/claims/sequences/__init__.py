"""Sequences: the past in a state, from the Kalman filter to recurrent networks and texts."""

SECTIONS = ("linear_recurrences", "text", "sequence_to_sequence")

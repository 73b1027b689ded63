"""Sequence to sequence: an encoder, a decoder that is fed its own output, attention, and how such a pair is trained."""

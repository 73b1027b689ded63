"""Recurrent networks in a traced program: the loop that repeats a cell, and the units that squash."""

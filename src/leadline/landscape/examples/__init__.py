"""Landscapes with known minima, saddles and barriers."""

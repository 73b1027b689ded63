"""Measures of sharpness, along a run and in a ball."""

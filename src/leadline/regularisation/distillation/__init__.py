"""Soft targets: label smoothing and students of a teacher."""

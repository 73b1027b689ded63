"""Placeholder: batches."""

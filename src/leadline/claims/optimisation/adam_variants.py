"""Placeholder: adam_variants."""

"""Placeholder: chain_theorems."""

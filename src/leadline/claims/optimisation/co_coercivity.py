"""Placeholder: co_coercivity."""

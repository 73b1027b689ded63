"""Placeholder: confusion_zone."""

"""Pretext tasks and contrastive coding."""

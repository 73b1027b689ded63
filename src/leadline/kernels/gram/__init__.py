"""Gram matrices in tiles, within a memory budget, and over devices."""

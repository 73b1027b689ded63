"""Digits in a frame, and networks trained on them with augmentation, which several entries use."""

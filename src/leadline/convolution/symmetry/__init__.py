"""Symmetries of networks on images: transformations, groups, defects by layer, group convolutions p4 and p4m."""

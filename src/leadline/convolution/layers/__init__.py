"""Layers that share weights over positions: kinds, costs, receptive fields, and the network made of a list of them."""

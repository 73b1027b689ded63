"""Model manifolds: widths, geodesics, embeddings of trajectories."""

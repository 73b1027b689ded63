"""Convolution as algebra: products, transforms, matrices, spectra, algorithms and filters."""

"""Statistics that normalisers use: standardised features, running averages, buffers and how they drift."""

"""Set-ups of the chapter on convolution."""

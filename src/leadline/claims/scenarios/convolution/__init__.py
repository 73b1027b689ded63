"""Set-ups that several entries of the chapter convolution share."""

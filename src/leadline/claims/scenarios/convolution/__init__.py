"""Set-ups that the chapter convolution shares."""

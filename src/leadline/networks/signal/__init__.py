"""How the size of signals and gradients changes from layer to layer, measured and in mean-field theory."""

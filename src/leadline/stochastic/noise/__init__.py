"""The noise of minibatch gradients, measured."""

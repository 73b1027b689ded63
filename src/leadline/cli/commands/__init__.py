"""One module a command of `leadline`."""

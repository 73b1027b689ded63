"""What instruments measure with, where it does not fit into their own file."""

"""How an empirical tangent kernel is put together: the traced program, its layers, signals, contractions, tiles."""

"""How sequence networks learn: losses with masks, tasks with known answers, the network unrolled over time."""

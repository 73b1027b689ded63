"""What a network has memorised: random labels, influence, probes."""

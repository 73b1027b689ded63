"""How far back a sequence model sees and learns: horizons, recall, saturated units and gates."""

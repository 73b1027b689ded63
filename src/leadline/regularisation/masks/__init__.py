"""What dropout's random masks amount to: exact sums over masks, ridge, predictive spread, deleted units."""

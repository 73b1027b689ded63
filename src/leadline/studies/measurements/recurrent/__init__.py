"""What the card of memory measures on a recurrent network."""

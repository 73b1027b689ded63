"""Critical points: finding, refining, classifying and leaving them."""

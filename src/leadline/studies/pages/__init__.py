"""Reports as HTML: one study, one card, two studies side by side."""

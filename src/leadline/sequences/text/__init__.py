"""Text: models of the next character, how well they do in which unit, and how text is drawn from them."""

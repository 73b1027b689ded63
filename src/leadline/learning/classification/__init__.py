"""Classification: encodings, softmax and logistic regression, metrics."""

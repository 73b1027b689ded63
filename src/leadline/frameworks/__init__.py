"""Networks of every framework in the one form that the library takes, apply(params, inputs) on a batch."""

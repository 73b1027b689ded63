"""Whether a change helped: risks, guarded splits, cross-validation, paired comparisons."""

"""Many models in place of one: bootstrap, bagging, boosting."""

"""PAC-Bayes."""

MODULES = ("pac_bayes", "certified_networks", "sloppy_posteriors")

from .delayed_recall import fit_recall as fit_recall

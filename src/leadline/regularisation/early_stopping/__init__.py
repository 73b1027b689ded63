"""Early stopping: when a validation curve says to stop, and what a network fits first."""

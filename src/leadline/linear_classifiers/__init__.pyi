from . import dichotomies as dichotomies, margins as margins, perceptrons as perceptrons

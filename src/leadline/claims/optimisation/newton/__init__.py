"""Newton and preconditioning."""

MODULES = ("newton", "newton_speed", "preconditioning", "curvature_stand_ins")

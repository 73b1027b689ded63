"""Objectives: convex, nonconvex, regression losses, worst cases, and any loss of a user."""

"""Placeholder: sign_descent."""

"""Rates and limits that theory promises."""

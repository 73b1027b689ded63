"""Placeholder: line_search_zigzag."""

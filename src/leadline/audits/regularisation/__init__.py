"""Audits of regularisers."""

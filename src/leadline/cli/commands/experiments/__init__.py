"""Commands that measure and compare: audits, optimisers under stress, advice, surfaces, regularisers."""

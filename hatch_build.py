"""Placeholder until the npm parts arrive."""

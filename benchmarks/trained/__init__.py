"""Fetches trained models from packages, creates inputs for them, checks their results and times them."""

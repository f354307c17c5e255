"""Passes that write calls of operators as others that compute the same."""

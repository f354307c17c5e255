"""Calling compiled code: arguments checked, outputs and scratch memory allocated, the C call made."""

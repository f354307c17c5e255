"""Calls of compiled code: check arguments, allocate outputs and scratch memory, make the C call."""

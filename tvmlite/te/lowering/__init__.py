"""Lowering of schedules to loops: bound inference, loop nests, guards, tails, tensorize."""

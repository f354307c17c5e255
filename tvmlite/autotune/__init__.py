"""Searches schedules with a cost model and real measurements."""

"""The choice of the next candidates to measure: tuners, the task scheduler, the tuning of one task."""

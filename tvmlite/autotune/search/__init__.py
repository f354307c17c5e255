"""Which candidates to measure next: tuners, the task scheduler, the tuning of one task."""

"""How to compute: schedules, their stages, and the primitives that transform loops."""

"""How it is computed: schedules, their stages, and the primitives that arrange loops."""

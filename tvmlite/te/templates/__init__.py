"""Schedule templates: their table, the fused group that a template schedules, register tiles."""

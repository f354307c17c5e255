"""Schedule templates: the table of them, the group a template arranges, register tiles."""

"""AMX's tile registers."""

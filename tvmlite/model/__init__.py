"""A compiled model: its kernels, its linking, the lookup of its records, its report, its exports."""

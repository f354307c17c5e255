"""A compiled model: its kernels, what is linked of them, what records say of it, its report, its exports."""

"""Parts of a graph that are marked for other compilers: marked, merged, and made functions of a module."""

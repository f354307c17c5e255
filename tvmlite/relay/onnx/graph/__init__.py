"""What a converter sees: its node, the inputs of the graph, dimensions and elements known at import."""

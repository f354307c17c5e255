"""What converters use: the node, the inputs of the graph, dimensions and elements known at import."""

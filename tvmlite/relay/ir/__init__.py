"""The graph IR: nodes, types, the operator table, type inference, verification, the interpreter."""

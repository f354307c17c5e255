"""The interface of generated code, the runtime and its callers: symbol names and function signatures."""

"""The text format of Relay, as TVM 0.11 prints and parses it."""

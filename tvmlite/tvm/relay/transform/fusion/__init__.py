"""``FuseOps`` by TVM's rules, for programs that inspect its groups. Models are compiled by our own rules."""

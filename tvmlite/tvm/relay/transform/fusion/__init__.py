"""``FuseOps`` by TVM's rules, for programs that look at its groups; models are compiled by rules of ours."""

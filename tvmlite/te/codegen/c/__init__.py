"""Generation of C99 from legal loop IR."""

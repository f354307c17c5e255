"""Other runtimes, and onnxruntime's quantizer, for comparisons; each is an optional extra."""

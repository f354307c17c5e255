"""The modes of ``quantize``, their options and their result."""

"""``tvm.driver``."""

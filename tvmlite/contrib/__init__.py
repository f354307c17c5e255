"""TVM's ``tvm.contrib``, as far as its tensor expression tutorials use it."""

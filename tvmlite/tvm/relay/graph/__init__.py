"""The basis of ``tvm.relay``: conversion of our nodes to TVM's, type inference, calls between functions."""

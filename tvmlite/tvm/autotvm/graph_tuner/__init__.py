"""TVM's tuner of layouts, which is not supported: ``relay.build`` chooses layouts by dynamic programming."""

from tvmlite.tvm.absent import refusing

__getattr__ = refusing(__name__)

"""``tvm.contrib.util``, the older name of ``tvm.contrib.utils``."""

from tvmlite.tvm.contrib.utils import TempDirectory as TempDirectory
from tvmlite.tvm.contrib.utils import tempdir as tempdir

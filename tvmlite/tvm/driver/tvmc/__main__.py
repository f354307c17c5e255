"""``python -m tvmlite.tvm.driver.tvmc``."""

import sys

from tvmlite.tvm.driver.tvmc.main import main

if __name__ == "__main__":
    sys.exit(main())

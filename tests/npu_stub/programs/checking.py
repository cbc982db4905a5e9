"""The engine's own check of a device, over the stand-in."""

from __future__ import annotations

import sys

from tests.npu_stub import stand_in

stand_in.install()

from engine.devices.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main("snt9b"))

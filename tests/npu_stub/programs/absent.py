"""What is said of an NPU that is not there. Does not install the stand-in: nothing is computed."""

from __future__ import annotations

import json
import os

from engine.devices.choosing import chosen
from engine.failures import Failure

if __name__ == "__main__":
    try:
        chosen("snt9b", local_rank=int(os.environ.get("WANTED", "0")))
    except Failure as failure:
        print(json.dumps({"code": failure.problem.code, **failure.problem.parameters}))
    else:
        print(json.dumps({"code": None}))

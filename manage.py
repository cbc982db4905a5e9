#!/usr/bin/env python
"""Django's command line, with our commands beside its own."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.settings")
    if sys.argv[1:2] == ["demo"]:
        from webui.demo.environment import prepare

        prepare(sys.argv[2:])
    execute_from_command_line(sys.argv)

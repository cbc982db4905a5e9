"""The site's settings, read from the tests' own environment.

Named in pyproject.toml, so that pytest-django takes them however the shell is set.
"""

from tests.environment import FOLDER
from webui.settings import *  # noqa: F403
from webui.settings import DATABASES

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads and child processes of a test see the same rows, and locks are the real ones.
    DATABASES["default"]["TEST"] = {"NAME": str(FOLDER / "test.sqlite3")}

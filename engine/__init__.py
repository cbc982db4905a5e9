"""The engine: checks, plans and runs training jobs. Knows nothing of Django.

Light zone (standard library and pydantic): every module here except the packages named in `HEAVY`.
Heavy zone (torch and friends): `preprocess`, `weights`, `training`; only ever started as a process.
"""

HEAVY = ("preprocess", "weights", "training")

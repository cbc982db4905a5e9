"""Checks requests and makes plans. Pure: only `check(files=True)` looks at the disk."""

from engine.planner.checking import check
from engine.planner.planning import Unplannable, plan
from engine.planner.verdict import Verdict, problem_json

__all__ = ["Unplannable", "Verdict", "check", "plan", "problem_json"]

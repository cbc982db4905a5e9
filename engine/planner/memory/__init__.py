"""How much memory a job takes on its fullest device. Formulas, published numbers and marked assumptions: nothing
here was measured on an NPU, so expect ten per cent either way."""

from engine.planner.memory import device
from engine.planner.memory.estimate import Estimate, estimate
from engine.planner.memory.setting import Setting

__all__ = ["Estimate", "Setting", "device", "estimate"]

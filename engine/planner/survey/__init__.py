"""What fits? Look-ups over whole tables: for a model, and for the devices that one has."""

from engine.planner.survey.cell import Cell, unknown
from engine.planner.survey.of_devices import Shelf, Trainable, of_devices
from engine.planner.survey.of_model import Grid, Line, of_model

__all__ = ["Cell", "Grid", "Line", "Shelf", "Trainable", "of_devices", "of_model", "unknown"]

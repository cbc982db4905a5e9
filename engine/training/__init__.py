"""Stage `train` of the native framework: one process, or several data-parallel ones under torchrun."""

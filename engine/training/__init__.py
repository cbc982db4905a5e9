"""Stage `train` of the native framework: one process, or several under torchrun that share out
data, layers and matrices."""

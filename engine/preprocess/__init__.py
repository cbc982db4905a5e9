"""Stage `preprocess`: rows of a dataset become tokens on disk."""

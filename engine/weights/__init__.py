"""Parameters on disk: sample models, loading, adapters, checkpoints and the export to Hugging Face's layout."""

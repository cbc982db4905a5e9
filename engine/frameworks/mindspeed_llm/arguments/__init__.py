"""The words behind `pretrain_gpt.py` and `posttrain_gpt.py`, in groups as the published scripts have them."""

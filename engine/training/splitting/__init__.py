"""How one model becomes the parts that many processes hold: `pipeline` by layers, `tensor` inside each layer, `shards`
over the replicas. They are applied in this order, and every parameter keeps its Hugging Face name."""

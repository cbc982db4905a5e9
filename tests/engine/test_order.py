"""Which samples make up an iteration."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from engine.training.data import Order


@pytest.mark.parametrize(("samples", "size"), [(10, 4), (3, 8), (1, 5), (7, 7), (5, 1)])
def test_batches_are_epoch_after_epoch_each_shuffled_by_its_number(samples: int, size: int) -> None:
    epochs = [np.random.default_rng([9, epoch]).permutation(samples) for epoch in range(50)]
    stream = np.concatenate(epochs)
    order = Order(samples, 9)
    for iteration in (0, 1, 3, 2):
        assert order.batch(iteration, size).tolist() == stream[iteration * size : (iteration + 1) * size].tolist()


def test_the_numbers_of_the_largest_batch_take_little_more_than_their_own_room() -> None:
    size = 2**20
    order = Order(size // 3, 9)
    tracemalloc.start()
    chosen = order.batch(1, size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(chosen) == size
    assert peak < 3 * chosen.nbytes

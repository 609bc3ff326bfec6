"""A CuPy program of one's own around gpualto's MTTKRP: events on the device in, their groups out.

Needs a CUDA device: ``pip install "gpualto[cuda13]"``, then ``python examples/als_in_cupy.py``.
"""

import math

import cupy

import gpualto

USERS, ITEMS, HOURS, GROUPS = 3000, 2000, 24, 4


def draw_events(count: int, seed: int) -> tuple[tuple[cupy.ndarray, ...], cupy.ndarray]:
    """Return what such a program holds already: coordinates and values, here of events in four groups.

    A group is a quarter of the users, items and hours; one event in five belongs to no group.
    """
    random = cupy.random.default_rng(seed)
    group = random.integers(0, GROUPS, count)
    is_noise = random.random(count) < 0.2
    coords = []
    for length in (USERS, ITEMS, HOURS):
        anywhere = random.integers(0, length, count)
        coords.append(cupy.where(is_noise, anywhere, anywhere // GROUPS + group * (length // GROUPS)))
    return tuple(coords), cupy.ones(count)


def main() -> None:
    """Decompose by alternating least squares, written out."""
    coords, values = draw_events(50_000, seed=0)

    # Equal events are counted; nothing leaves the device.
    X = gpualto.Tensor.from_coo(coords, values, (USERS, ITEMS, HOURS))
    print(X)

    # From here on a call of `plan` queues kernels on the current stream, and does nothing else.
    plan = gpualto.plan_mttkrp(X, rank=GROUPS)
    print(plan)

    random = cupy.random.default_rng(1)
    factors = [random.random((length, GROUPS)) for length in X.shape]
    outs = [cupy.empty((length, GROUPS)) for length in X.shape]
    for _ in range(15):
        for mode in range(X.ndim):
            grams = [factor.T @ factor for n, factor in enumerate(factors) if n != mode]
            gram = math.prod(grams[1:], start=grams[0])
            plan(factors, mode, outs[mode])
            factors[mode] = cupy.ascontiguousarray(cupy.linalg.solve(gram, outs[mode].T).T)

    # The component in which an hour is largest: each group has six hours of the day.
    print("group of each hour:", *factors[2].argmax(axis=1).tolist())


if __name__ == "__main__":
    main()

"""The random numbers of Go's `math/rand`, so that a shuffle by seed 42 is the one that was published.

It is an additive lagged Fibonacci generator: y[n] = y[n-607] + y[n-273], modulo 2^64. Go seeds it with numbers of
a small linear generator, mixed with a table: the state of the same recurrence after 7.8e12 steps. Such a jump is a
power of x modulo x^607 - x^334 - 1, so the table is computed here, in milliseconds.
"""

from functools import cache

import numpy as np

LENGTH, SHORT = 607, 273
START = LENGTH - SHORT - 1  # where the first number is written in the state; the next ones before it
WARM_UP = 7_800_000_000_000
INT31 = 2**31 - 1


def small_numbers(seed):
    """The linear generator that seeds the large one, without its first twenty numbers."""
    number = seed % INT31 or 89482311
    for _ in range(20):
        number = 48271 * number % INT31
    while True:
        number = 48271 * number % INT31
        yield number


def mixed(numbers, shift):
    """One of 607 numbers of the first state, from three small ones."""
    first, second, third = (next(numbers) for _ in range(3))
    return (first << 2 * shift ^ second << shift ^ third) % 2**64


def reduced(polynomial):
    """Modulo x^607 - x^334 - 1; coefficients are modulo 2^64."""
    while len(polynomial) > LENGTH:
        low, high = polynomial[:LENGTH].copy(), polynomial[LENGTH:]
        polynomial = np.zeros(max(LENGTH, LENGTH - SHORT + len(high)), dtype=np.uint64)
        polynomial[:LENGTH] += low
        polynomial[: len(high)] += high
        polynomial[LENGTH - SHORT : LENGTH - SHORT + len(high)] += high
    return polynomial


def power_of_x(exponent):
    result = np.array([1], dtype=np.uint64)
    for bit in bin(exponent)[2:]:
        result = reduced(np.convolve(result, result))
        if bit == "1":
            result = reduced(np.concatenate([np.zeros(1, dtype=np.uint64), result]))
    return result


@cache
def table():
    """The state after 7.8e12 steps, by position."""
    numbers = small_numbers(1)
    state = np.array([mixed(numbers, 10) for _ in range(LENGTH)], dtype=np.uint64)
    # In the order of time: what the state has at position p is the number of step START - p, modulo 607.
    steps = np.arange(-LENGTH, 0)
    past = state[(START - steps) % LENGTH]
    polynomial = np.zeros(LENGTH, dtype=np.uint64)
    jump = power_of_x(WARM_UP)
    polynomial[: len(jump)] = jump
    cooked = np.zeros(LENGTH, dtype=np.uint64)
    for step in range(WARM_UP - LENGTH, WARM_UP):
        cooked[(START - step) % LENGTH] = (polynomial * past).sum(dtype=np.uint64)
        polynomial = reduced(np.concatenate([np.zeros(1, dtype=np.uint64), polynomial]))
    return tuple(int(number) for number in cooked)


class GoRandom:
    """`rand.New(rand.NewSource(seed))`."""

    def __init__(self, seed):
        numbers = small_numbers(seed)
        self._state = [mixed(numbers, 20) ^ cooked for cooked in table()]
        self._step = 0

    def uint64(self):
        position = (START - self._step) % LENGTH
        number = (self._state[position] + self._state[(position + SHORT) % LENGTH]) % 2**64
        self._state[position] = number
        self._step += 1
        return number

    def int63(self):
        return self.uint64() % 2**63

    def intn(self, n):
        """Below *n*, which is at most 2^31 - 1."""
        if n & (n - 1) == 0:
            return (self.int63() >> 32) & (n - 1)
        largest = 2**31 - 1 - 2**31 % n
        while (number := self.int63() >> 32) > largest:
            pass
        return number % n

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self._below(last + 1)
            items[last], items[other] = items[other], items[last]

    def _below(self, n):
        """As `intn`, from other bits: a product in place of a remainder."""
        product = (self.int63() >> 31) * n
        while product % 2**32 < 2**32 % n:
            product = (self.int63() >> 31) * n
        return product >> 32

    def permutation(self, n):
        items = []
        for index in range(n):
            other = self.intn(index + 1)
            items.append(index)
            items[index], items[other] = items[other], index
        return items

"""What is done to one object is done one after the other."""

import asyncio

import pytest

from bayplan.client.turns import Turns


async def _note(turns: Turns, key: str, name: str, seen: list[str], gate: asyncio.Event | None = None) -> None:
    async with turns.turn(key):
        seen.append(f"{name} begins")
        if gate is not None:
            await gate.wait()
        seen.append(f"{name} ends")


@pytest.mark.asyncio
async def test_in_the_order_of_asking() -> None:
    """The second begins when the first has ended; another object does not wait."""
    turns, gate = Turns(), asyncio.Event()
    seen: list[str] = []
    tasks = [
        asyncio.create_task(_note(turns, "a", "first", seen, gate)),
        asyncio.create_task(_note(turns, "a", "second", seen)),
        asyncio.create_task(_note(turns, "b", "other", seen)),
    ]
    await asyncio.sleep(0.01)
    assert seen == ["first begins", "other begins", "other ends"]

    gate.set()
    await asyncio.gather(*tasks)

    assert seen[3:] == ["first ends", "second begins", "second ends"]
    assert len(turns) == 0


@pytest.mark.asyncio
async def test_who_gives_up_lets_nobody_past() -> None:
    """A waiter that is cancelled is skipped; who comes after it still waits for the first."""
    turns, gate = Turns(), asyncio.Event()
    seen: list[str] = []
    first = asyncio.create_task(_note(turns, "a", "first", seen, gate))
    second = asyncio.create_task(_note(turns, "a", "second", seen))
    third = asyncio.create_task(_note(turns, "a", "third", seen))
    await asyncio.sleep(0.01)

    second.cancel()
    await asyncio.sleep(0.01)
    assert seen == ["first begins"]

    gate.set()
    await asyncio.gather(first, third)
    assert seen == ["first begins", "first ends", "third begins", "third ends"]
    assert len(turns) == 0


@pytest.mark.asyncio
async def test_an_error_ends_the_turn() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="broken"):
        async with turns.turn("a"):
            raise ValueError("broken")
    async with turns.turn("a"):
        pass
    assert len(turns) == 0

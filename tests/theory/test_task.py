"""Tasks: how k hops are cut into steps, how long prompts get, and how many outputs there are."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from theory import InputError, Task
from theory.definitions.strategies import tasks

# Task, for arguments that the type checker would not let through.
ANY_TASK: Any = Task


@pytest.mark.parametrize(
    ("task", "steps", "first_step", "positions", "hops"),
    [
        (Task(), 1, 1, 2, [(0, 1)]),
        (Task(3), 1, 3, 4, [(0, 3)]),
        (Task(3, 3), 1, 3, 4, [(0, 3)]),
        (Task(3, 1), 3, 1, 6, [(0, 1), (1, 2), (2, 3)]),
        (Task(4, 2), 2, 2, 6, [(0, 2), (2, 4)]),
        (Task(5, 2), 3, 1, 8, [(0, 1), (1, 3), (3, 5)]),
        (Task(5, 3), 2, 2, 7, [(0, 2), (2, 5)]),
        (Task(7, 4), 2, 3, 9, [(0, 3), (3, 7)]),
    ],
)
def test_steps(task: Task, steps: int, first_step: int, positions: int, hops: list[tuple[int, int]]) -> None:
    assert task.steps == steps
    assert task.first_step == first_step
    assert task.positions == positions
    assert [task.hops_of_step(step) for step in range(steps)] == hops


@given(tasks())
def test_steps_take_all_hops_in_order(task: Task) -> None:
    taken = [hop for step in range(task.steps) for hop in range(*task.hops_of_step(step))]
    assert taken == list(range(task.hops))
    lengths = [stop - start for start, stop in map(task.hops_of_step, range(task.steps))]
    assert lengths == [task.first_step] + [task.stride] * (task.steps - 1)
    assert 1 <= task.first_step <= task.stride
    # The last step's prompt: the subject, all relations, and every entity emitted before.
    assert task.positions == 1 + task.hops + task.steps - 1


def test_outputs() -> None:
    assert Task(3, 1).outputs(entities=5, relations=4) == 5
    assert Task(disjoint_attributes=True).outputs(entities=5, relations=4) == 20


def test_a_stride_not_given_is_the_number_of_hops() -> None:
    assert Task(4) == Task(4, 4)
    assert Task(4) != Task(4, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Task(0), "hops must be a whole number of at least 1, not 0"),
        (lambda: Task(-2), "hops must be a whole number of at least 1, not -2"),
        (lambda: ANY_TASK(1.5), "hops must be a whole number of at least 1, not 1.5"),
        (lambda: Task(True), "hops must be a whole number of at least 1, not True"),
        (lambda: Task(3, -1), "stride must be a whole number of at least 1, not -1"),
        (lambda: ANY_TASK(3, 1.0), "stride must be a whole number of at least 1, not 1.0"),
        (lambda: Task(3, 4), "stride 4 is larger than the number of hops, 3"),
        (lambda: Task(2, disjoint_attributes=True), "disjoint attributes answer one hop, not 2"),
        (lambda: Task(5, 2).hops_of_step(3), "step 3 is not one of the steps 0..2"),
        (lambda: Task(5, 2).hops_of_step(-1), "step -1 is not one of the steps 0..2"),
    ],
)
def test_bad_input(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)

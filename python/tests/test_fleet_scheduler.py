"""The tree reduction, on workers that add whole numbers and get lost on purpose."""

import random

import pytest

from tfhe_sbc.fleet.model import FleetModel
from tfhe_sbc.fleet.scheduler import Done, FleetError, FleetReport, Task, reduce


def number(value: int) -> bytes:
    return value.to_bytes(8, "little")


class Adders:
    """Ends tasks in any order. Loses a task where `loses` says so."""

    def __init__(self, seed: int, room: int = 4, loses=lambda task: False) -> None:
        self.random, self.room, self.loses = random.Random(seed), room, loses
        self.tasks: list[Task] = []
        self.done: list[Task] = []

    def has_room(self) -> bool:
        return len(self.tasks) < self.room

    def start(self, task: Task) -> None:
        assert self.has_room()
        self.tasks.append(task)

    def wait(self) -> Done | None:
        if self.random.random() < 0.1:
            return None
        task = self.tasks.pop(self.random.randrange(len(self.tasks)))
        if self.loses(task):
            return Done(task, lost="it was told to")
        self.done.append(task)
        try:
            total = sum(int.from_bytes(part, "little") for part in task.payload)
            return Done(task, result=(number(total), len(task.payload)))
        except OverflowError as error:
            return Done(task, error=error)

    def reset(self) -> None:
        self.tasks.clear()

    def close(self) -> None:
        pass


def run(values, workers, **options):
    report = FleetReport()
    settings = {"block": 4, "fan_in": 3, "retries": 2} | options
    result = reduce(map(number, values), workers, report=report, **settings)
    return int.from_bytes(result, "little"), report


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 11, 12, 13, 100, 257])
@pytest.mark.parametrize("block,fan_in", [(1, 2), (4, 3), (32, 8)])
def test_every_batch_counts_once(count, block, fan_in):
    values = [3**i % 1009 for i in range(count)]
    adders = Adders(count)
    total, report = run(values, adders, block=block, fan_in=fan_in)
    assert total == sum(values)
    assert report.batches == count and report.blocks == -(-count // block)
    assert report.repeated == 0
    # Every combination of k leaves one of them.
    combined = [task for task in adders.done if task.kind == "combine"]
    assert sum(len(task.payload) - 1 for task in combined) == report.blocks - 1


def test_what_a_lost_worker_did_is_done_again_and_counts_once():
    chance = random.Random(7)
    values = range(500)
    adders = Adders(1, loses=lambda task: chance.random() < 0.2)
    total, report = run(values, adders, retries=50)
    assert total == sum(values)
    assert report.repeated == len(report.lost) > 10


def test_a_task_that_takes_every_worker_with_it_ends_the_evaluation():
    adders = Adders(1, loses=lambda task: task.kind == "map" and task.first == 8)
    with pytest.raises(
        FleetError, match=r"batches 8 to 11 lost 3 workers .* it was told to.*block="
    ) as raised:
        run(range(100), adders)
    assert raised.value.__cause__ is None


def test_an_error_of_the_work_names_the_batches():
    with pytest.raises(FleetError, match="batches 4 to 7: ") as raised:
        run([1, 2, 3, 4, 2**63, 2**63, 0, 0, 1], Adders(1, room=1))
    assert isinstance(raised.value.__cause__, OverflowError)


def test_bad_batches_are_left_out_if_asked():
    values = [5, 2**64 - 1, 7, 2**64 - 1, 2**64 - 2, 1, 1, 1, 1]

    class Picky(Adders):
        def wait(self):
            done = super().wait()
            bad = (2**64 - 1).to_bytes(8, "little")
            if done and done.task.kind == "map" and bad in done.task.payload:
                return Done(done.task, error=ValueError("bad"))
            return done

    with pytest.raises(FleetError, match="bad"):
        run(values, Picky(2))
    adders = Picky(2)
    report = FleetReport()
    with pytest.raises(FleetError, match="every batch was left out: batch 0: bad"):
        reduce([number(2**64 - 1)], adders, block=4, fan_in=2, retries=0, report=report, skip=True)
    total, report = run([5, 2**64 - 1, 7, 2**64 - 1, 3, 1, 1, 1, 1], Picky(2), skip=True)
    assert total == 19
    assert report.skipped == {1: "bad", 3: "bad"} and report.batches == 9


def test_the_last_task_makes_the_answer():
    class Finishing(Adders):
        def wait(self):
            done = super().wait()
            if done and done.task.kind == "finish":
                return Done(done.task, result=(number(1000 + done.task.count), 0))
            return done

    total, report = run(range(10), Finishing(1), finish=True)
    assert total == 1010
    # These workers say how many parts a task had: of the last combination.
    assert report.rows == 3


def test_paths_are_read_when_their_turn_comes(tmp_path):
    path = tmp_path / "batch"
    path.write_bytes(number(41))
    report = FleetReport()
    result = reduce([path, number(1)], Adders(1), block=1, fan_in=2, retries=0, report=report)
    assert int.from_bytes(result, "little") == 42


def test_nothing_to_do_and_things_that_are_no_batches_are_refused():
    with pytest.raises(FleetError, match="no batches"):
        run([], Adders(1))
    with pytest.raises(TypeError, match="batch 1 is a str: give uploads as bytes"):
        reduce([b"", "x"], Adders(1), block=4, fan_in=2, retries=0, report=FleetReport())


def test_batches_are_taken_as_they_are_needed():
    taken = 0

    def batches():
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield number(1)

    class Watching(Adders):
        most_ahead = 0

        def start(self, task):
            super().start(task)
            done = sum(task.count for task in self.done if task.kind == "map")
            self.most_ahead = max(self.most_ahead, taken - done)

    workers = Watching(3)
    reduce(batches(), workers, block=4, fan_in=3, retries=0, report=FleetReport())
    assert taken == 1000
    assert workers.most_ahead <= 5 * 4


def test_progress_ends_with_all_batches():
    seen = []
    run(range(50), Adders(5), progress=lambda done, started: seen.append((done, started)))
    assert seen[-1] == (50, 50)
    assert seen == sorted(seen)


def test_the_model_knows_what_can_be_said_without_it():
    model = FleetModel(
        prepare=2.0, map_block=1.0, map_batch=0.5, combine=3.0, combine_each=0.25, dispatch=0.0
    )
    # One worker does all of it: 4 blocks of 8, and one combination of 4.
    assert model.seconds(32, 1, block=8, fan_in=4) == pytest.approx(2 + 4 * 5 + 4)
    # Two share the blocks, one of them combines.
    assert model.seconds(32, 2, block=8, fan_in=4) == pytest.approx(2 + 2 * 5 + 4)
    # With as many workers as there are blocks only depth is left.
    assert model.seconds(32, 4, block=8, fan_in=2) == pytest.approx(2 + 5 + 2 * 3.5)
    # A caller that takes longer for a task than its workers is what bounds them.
    slow = FleetModel(0.0, 0.001, 0.0, 0.0, 0.0, dispatch=0.1)
    assert slow.seconds(1000, 50, block=1, fan_in=1001) == pytest.approx(0.1 * 1001, rel=0.01)
    with pytest.raises(ValueError):
        model.seconds(0, 1)

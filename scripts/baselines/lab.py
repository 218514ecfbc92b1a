"""What a baseline needs: work to be timed by either clock, and a line to what measures it.

A *baseline* is an established library that does what the workbook's experiments do: one
script `NAME.py` beside this file, with a function `experiment(lab)`. The program `baseline`
(`experiments/shared/baseline`) starts it and does all that an experiment's lab does: it decides
how many operations a sample has and when there are enough, and writes the record. They talk in
lines of JSON, requests on standard output and what is asked for on standard input: after
`{"time": "host"}` each number asks for the seconds that so many operations take, and `null` ends it.

Only the standard library is used here; the numbers of a baseline must not depend on it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import platform
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# What every baseline measures.
KINDS = ("pageable", "pinned")
SIZES = (64 << 10, 1 << 20, 64 << 20, 1 << 30)
SIDES = (4096, 8192, 16384)
TOKENS = (512, 1024, 2048, 4096, 8192, 16384)
ALLOCATIONS = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 4 << 30)

Parameters = dict[str, int | str]


class Failed(Exception):
    """The measurement went wrong."""


class CannotRun(Exception):
    """This machine lacks what the baseline needs."""


@dataclass(frozen=True)
class Samples:
    """The samples of one measurement, which `baseline` has."""

    number: int
    last_turn: int
    """The turn of the last operation, whose result is still there to be checked."""
    last_result: Any = None
    """What the last operation returned."""


class Stream:
    """A CUDA stream by its handle, and the driver's functions that time work on it."""

    def __init__(self, handle: int) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._handle = ctypes.c_void_p(handle)
        self._start, self._end = self._event(), self._event()

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._driver, function)(*arguments)
        if code != 0:
            raise Failed(f"{function}: the driver's error {code}")

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def seconds(self, delay: float, enqueue: Callable[[], None]) -> float | None:
        """The GPU's time for what `enqueue` queues. The stream sleeps for `delay` first,
        so that all is queued when the first operation starts; `None` if it was not.
        """
        begun = time.perf_counter()
        # The C library's `usleep` and no Python: a callback would need the interpreter,
        # which the queuing thread holds.
        usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
        microseconds = ctypes.c_void_p(round(delay * 1e6))
        self._call("cuLaunchHostFunc", self._handle, usleep, microseconds)
        self._call("cuEventRecord", self._start, self._handle)
        enqueue()
        self._call("cuEventRecord", self._end, self._handle)
        queued = time.perf_counter() - begun
        self._call("cuEventSynchronize", self._end)
        milliseconds = ctypes.c_float()
        self._call(
            "cuEventElapsedTime", ctypes.byref(milliseconds), self._start, self._end
        )
        return milliseconds.value * 1e-3 if queued < delay else None


class Lab:
    """One run of one baseline."""

    def __init__(self) -> None:
        # Whatever else prints does so on standard error.
        self._requests = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._measured = 0
        self._is_timing = False
        options = self._hear()
        self.device: int = options["device"]
        self.quick: bool = options["quick"]
        self.l2_bytes: int = options["l2_bytes"]
        """Of the measured GPU's L2 cache."""

    def say(self, **request: Any) -> None:
        """Tells `baseline` something."""
        print(json.dumps(request), file=self._requests, flush=True)

    def _hear(self) -> Any:
        # Awake, as between two turns of a loop: a core that has slept is slow at first.
        while not select.select([sys.stdin], [], [], 0)[0]:
            pass
        line = sys.stdin.readline()
        if not line:
            sys.exit(1)  # what asked is gone
        return json.loads(line)

    def begin(self, library: str, gpu: str, free_bytes: int) -> None:
        """States the library with its version, its name of the GPU and the free memory
        there, from which the sizes follow.
        """
        python = f"Python {platform.python_version()}"
        self.say(begin={"library": library, "python": python, "gpu": gpu})
        most = min(SIZES[-2] if self.quick else SIZES[-1], free_bytes // 8)
        self.sizes = [size for size in SIZES if size <= most]
        self.words = self.sizes[-1] // 4
        """Elements of 4 bytes in the largest copy."""
        self.sides = SIDES[:1] if self.quick else SIDES
        self.tokens = TOKENS[:2] if self.quick else TOKENS
        most = 16 << 20 if self.quick else free_bytes // 4
        self.allocations = [size for size in ALLOCATIONS if size <= most]
        self._free_bytes = free_bytes

    def pairs(self, side: int) -> int:
        """How many pairs of square matrices it takes in turn until four times the L2
        cache was touched between two uses of one; 0, and skipped, if they do not fit.
        """
        pair = 2 * side * side * 4
        pairs = -(-4 * self.l2_bytes // pair)
        needed = (pairs + 1) * pair
        return pairs if self.fits("transpose", {"side": side}, needed) else 0

    def fits(self, case: str, parameters: Parameters, needed: int) -> bool:
        """Whether a case can have so many bytes of device memory; if not, it is skipped."""
        if needed > 0.9 * self._free_bytes:
            reason = f"needs {needed >> 20} MiB of free device memory"
            self.say(skip={"case": case, "parameters": parameters, "reason": reason})
            return False
        return True

    @contextmanager
    def attempt(self, case: str, parameters: Parameters) -> Iterator[None]:
        """Skips a case, and says why, if it fails before it is timed, as where a version of
        the library lacks a function. A wrong result is no such failure.
        """
        try:
            yield
        except Failed:
            raise
        except Exception as error:
            if self._is_timing:
                raise
            lines = f"{type(error).__name__}: {error}".splitlines()
            reason = "".join(c for c in lines[0][:300] if c.isprintable())
            print(f"{case} {parameters}:", error, file=sys.stderr)
            self.say(skip={"case": case, "parameters": parameters, "reason": reason})

    def _time(self, how: str, take: Callable[[int], float]) -> int:
        """Has `take(operations)` called as often as it takes; the number of these samples."""
        self.say(time=how)
        self._is_timing = True
        while (operations := self._hear()) is not None:
            self.say(seconds=take(operations))
        self._is_timing = False
        self._measured += 1
        return self._measured - 1

    def time_on_host(
        self,
        work: Callable[[int], object],
        *,
        before: Callable[[], object] = lambda: None,
        repeat: bool = False,
    ) -> Samples:
        """Times `work(turn)` by the host's clock. It must return when its work is done,
        on the GPU too; what it returns is dropped before the clock starts again. `before`
        runs before each sample. With `repeat`, short work is repeated within a sample.
        """
        turn, result = -1, None

        def take(operations: int) -> float:
            nonlocal turn, result
            result = None
            before()
            begun = time.perf_counter()
            for _ in range(operations):
                turn += 1
                result = work(turn)
            return time.perf_counter() - begun

        number = self._time("host_repeated" if repeat else "host", take)
        return Samples(number, turn, result)

    def time_on_gpu(self, stream: int, enqueue: Callable[[int], object]) -> Samples:
        """Times what `enqueue(turn)` queues on the stream with this handle, by CUDA
        events. It must not wait for the GPU.
        """
        timer = Stream(stream)
        turn, delay = -1, 2e-3

        def take(operations: int) -> float:
            nonlocal delay

            def work() -> None:
                nonlocal turn
                for _ in range(operations):
                    turn += 1
                    enqueue(turn)

            while (seconds := timer.seconds(delay, work)) is None:
                delay *= 2
                if delay > 1:
                    raise Failed("the work waits for the GPU while it is being queued")
            return seconds

        return Samples(self._time("gpu", take), turn)

    def check(self, what: str, equal: bool) -> None:
        """Ends the run if a result was not what it should be."""
        if not equal:
            raise Failed(f"{what}: wrong result. Nothing was recorded")

    def record(
        self,
        case: str,
        parameters: Parameters,
        samples: Samples,
        *,
        reads: int = 0,
        writes: int = 0,
        ceiling: str = "none",
        touched: int | None = None,
        computes: int = 0,
        checked: int = 0,
        model: dict[str, float] | None = None,
    ) -> None:
        """Takes a finished case into the record. Parameters tell it from other cases, in every
        run alike; what is read beside the clock goes into `model`. `touched` is how many
        bytes of device memory the operations of a sample touch together.
        """
        self.say(
            record={
                "case": case,
                "parameters": parameters,
                "samples": samples.number,
                "reads": reads,
                "writes": writes,
                "ceiling": ceiling,
                "touched": touched,
                "computes": computes,
                "checked": checked,
                "model": model or {},
            }
        )

    def record_copy(
        self, case: str, direction: str, size: int, samples: Samples, **more: int | str
    ) -> None:
        """A copy of `size` bytes between host and GPU, every element of which, 4 bytes
        each, was checked.
        """
        to_gpu = direction == "host_to_device"
        self.record(
            case,
            {"direction": direction, "bytes": size, **more},
            samples,
            reads=0 if to_gpu else size,
            writes=size if to_gpu else 0,
            ceiling="host_link",
            checked=size // 4,
        )

    def record_transpose(self, side: int, pairs: int, samples: Samples) -> None:
        """A transpose of 4-byte elements; the outputs of all `pairs` were checked."""
        size = side * side * 4
        self.record(
            "transpose",
            {"side": side},
            samples,
            reads=size,
            writes=size,
            ceiling="device_memory",
            touched=2 * pairs * size,
            checked=pairs * side * side,
        )


def main() -> None:
    """Runs the baseline that the command line names."""
    lab = Lab()
    try:
        importlib.import_module(f"baselines.{sys.argv[1]}").experiment(lab)
    except (CannotRun, ImportError) as error:
        lab.say(cannot_run=str(error))
    except Failed as error:
        lab.say(failed=str(error))

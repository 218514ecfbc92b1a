"""What a baseline needs and no library has: options, sampling, both clocks, the record.

A *baseline* is an established library that does what the workbook's experiments do: one
script `NAME.py` beside this file, with a function `experiment(lab)`. It is measured by
the rules of the book's page "Method", which `experiments/shared/lab` keeps for Rust, and leaves
a record like theirs, `results/<machine>/NAME.json`. It runs after them, on the same
machine, and takes the machine's description from the newest record that they left there,
so that the two can stand side by side.

Only the standard library is used here; the numbers of a baseline must not depend on it.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

# What every baseline measures.
KINDS = ("pageable", "pinned")
SIZES = (64 << 10, 1 << 20, 64 << 20, 1 << 30)
SIDES = (4096, 8192, 16384)
TOKENS = (512, 1024, 2048, 4096, 8192, 16384)
ALLOCATIONS = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 4 << 30)

Parameters = dict[str, int | str]
FOLDER = Path(__file__).parent
# Exit codes, those of an experiment.
RECORDED, FAILED, CANNOT_RUN = 0, 1, 77


class Failed(Exception):
    """The measurement went wrong, or may not be written."""


class CannotRun(Exception):
    """This machine lacks what the baseline needs."""


@dataclass(frozen=True)
class Sampling:
    """How many samples to take; `experiments/shared/lab/src/timing.rs` has the same rules."""

    least: int
    """Not fewer, unless the time is up."""
    fewest: int
    """Never fewer."""
    most: int
    half_width: float
    """Enough when half the confidence interval is within this share of the median."""
    budget: float
    """Enough when sampling took this many seconds, if `fewest` was reached."""
    warm_ups: int = 2
    """Untimed turns; never fewer."""
    warming: float = 0.2
    """Untimed turns end after this many seconds."""

    def warm_up(self, turn: Callable[[], float]) -> float:
        """Calls `turn` until it becomes no faster, and returns the last one's seconds."""
        begun = time.perf_counter()
        seconds: list[float] = []
        while len(seconds) < MOST_WARM_UPS:
            seconds.append(turn())
            late = time.perf_counter() - begun >= self.warming
            if len(seconds) >= self.warm_ups and (late or is_warm(seconds)):
                break
        return seconds[-1]

    def run(self, take: Callable[[], float]) -> list[float]:
        """Calls `take` until there are enough samples."""
        begun = time.perf_counter()
        seconds: list[float] = []
        while not self.enough(seconds, time.perf_counter() - begun):
            seconds.append(round(take(), 12))
        return seconds

    def enough(self, seconds: list[float], elapsed: float) -> bool:
        count = len(seconds)
        if count >= self.most or (count >= self.fewest and elapsed >= self.budget):
            return True
        return count >= self.least and relative_half_width(seconds) <= self.half_width


FULL = Sampling(least=20, fewest=20, most=100, half_width=0.005, budget=2.0)
QUICK = Sampling(6, fewest=3, most=10, half_width=0.05, budget=0.1, warm_ups=1, warming=0.02)


def is_warm(seconds: list[float]) -> bool:
    """Whether a round of turns has just ended that was no faster than the one before."""
    if len(seconds) % ROUND or len(seconds) < 2 * ROUND:
        return False
    last, before = seconds[-ROUND:], seconds[-2 * ROUND : -ROUND]
    return statistics.median(last) >= statistics.median(before)


def median_rank(count: int) -> int:
    """How many of `count` independent, sorted samples to drop at each end, so that those
    left span the true median with a confidence of 95 %. See `statistics.rs` of the record
    crate.
    """
    rank, tail = 0, 0.0
    for k in range(count // 2):
        tail += math.comb(count, k) / 2**count
        if 1 - 2 * tail < 0.95:
            break
        rank = k
    return rank


# Fewer samples do not tell how alike those are that follow each other.
LEAST_TO_CORRELATE = 20


def correlation(seconds: list[float]) -> float:
    """How alike samples are that follow each other, from 0 to 1."""
    n, ordered = len(seconds), sorted(seconds)
    ranks = [bisect_left(ordered, x) + bisect_right(ordered, x) - n for x in seconds]
    variance = sum(rank * rank for rank in ranks)
    if n < LEAST_TO_CORRELATE or variance == 0:
        return 0.0
    estimate = sum(a * b for a, b in zip(ranks, ranks[1:])) / variance
    return min(max((n * estimate + 1) / (n - 3), 0.0), 1.0)


def relative_half_width(seconds: list[float]) -> float:
    """Half the median's 95 % confidence interval, as a share of the median."""
    ordered, alike = sorted(seconds), correlation(seconds)
    rank = 0
    if alike < 1:
        middle = len(ordered) / 2
        wider = math.sqrt((1 + alike) / (1 - alike))
        rank = max(int(middle - (middle - median_rank(len(ordered))) * wider), 0)
    width = ordered[-1 - rank] - ordered[rank]
    return width / 2 / statistics.median(ordered)


@dataclass(frozen=True)
class Samples:
    """The samples of one measurement."""

    clock: str
    operations: int
    """Operations timed together; a sample is their mean."""
    seconds: list[float]
    last_turn: int
    """The turn of the last operation, whose result is still there to be checked."""
    last_result: Any = None
    """What the last operation returned."""


# A sample of a short operation should last this long.
SAMPLE_SECONDS = 200e-6
MOST_OPERATIONS = 128
# Events show times in steps of this, and two of them with nothing between show some.
TICK_SECONDS = 32e-9
EMPTY_SAMPLES = 9
# Untimed turns on the host's side go on until as many are no faster than those before.
ROUND = 5
MOST_WARM_UPS = 6 * ROUND


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
    """One run of one baseline, from its options to its record."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.device: int = options.device
        self.quick: bool = options.quick
        self._json: bool = options.json
        self._sampling = QUICK if options.quick else FULL
        if options.samples:
            n = options.samples
            self._sampling = Sampling(n, fewest=n, most=n, half_width=0.0, budget=math.inf)
        beside = newest_record(options.results, options.machine)
        if beside["machine"]["measured_gpu"] != self.device:
            raise Failed(
                f"the record of `{beside['experiment']}` is of another GPU than "
                f"--device {self.device}: run an experiment on this one first"
            )
        folder = options.results / beside["machine"]["name"] / (options.label or "")
        folder.mkdir(exist_ok=True)
        self._path = folder / f"{name}.json"
        if not options.replace:
            check_replacement(self._path, beside["machine"], self.quick, options.label)
        now = datetime.now(timezone.utc)
        self._record: dict[str, Any] = {
            "schema": beside["schema"],
            "experiment": name,
            "source": "measured",
            "run": {
                "started": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "command": command(sys.argv[1:]),
                "revision": beside["run"]["revision"],
                "dirty": beside["run"]["dirty"],
                "quick": self.quick,
                **({"label": options.label} if options.label else {}),
            },
            "software": {
                **beside["software"],
                "compiler": f"Python {platform.python_version()}",
                "profile": "",
            },
            "machine": beside["machine"],
            "kernel": None,
            "gpu_before": gpu_state(beside["machine"]),
            "gpu_after": None,
            "measurements": [],
            "skipped": [],
        }

    def begin(self, library: str, gpu: str, free_bytes: int) -> None:
        """States the library with its version, its name of the GPU and the free memory
        there, from which the sizes follow.
        """
        expected = self._gpu["name"]
        if gpu != expected:
            raise Failed(f"{library} uses {gpu}, the record beside is of {expected}")
        self._record["software"]["profile"] = library
        most = min(SIZES[-2] if self.quick else SIZES[-1], free_bytes // 8)
        self.sizes = [size for size in SIZES if size <= most]
        self.words = self.sizes[-1] // 4
        """Elements of 4 bytes in the largest copy."""
        self.sides = SIDES[:1] if self.quick else SIDES
        self.tokens = TOKENS[:2] if self.quick else TOKENS
        most = 16 << 20 if self.quick else free_bytes // 4
        self.allocations = [size for size in ALLOCATIONS if size <= most]
        self._free_bytes = free_bytes
        self._say(f"{self._record['experiment']} on {gpu}: {library}")

    @property
    def _gpu(self) -> dict[str, Any]:
        machine = self._record["machine"]
        return machine["gpus"][machine["measured_gpu"]]

    @property
    def l2_bytes(self) -> int:
        """Of the measured GPU's L2 cache."""
        return self._gpu["l2_bytes"]

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
            self._skip(case, parameters, reason)
            return False
        return True

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

        def sample(operations: int) -> float:
            nonlocal turn, result
            result = None
            before()
            begun = time.perf_counter()
            for _ in range(operations):
                turn += 1
                result = work(turn)
            return (time.perf_counter() - begun) / operations

        once = self._sampling.warm_up(lambda: sample(1))
        operations = math.ceil(SAMPLE_SECONDS / once) if repeat else 1
        seconds = self._sampling.run(lambda: sample(operations))
        return Samples("host", operations, seconds, turn, result)

    def time_on_gpu(self, stream: int, enqueue: Callable[[int], object]) -> Samples:
        """Times what `enqueue(turn)` queues on the stream with this handle, by CUDA
        events. It must not wait for the GPU.
        """
        timer = Stream(stream)
        turn, delay = -1, 2e-3

        def elapsed(operations: int) -> float:
            nonlocal turn, delay

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

        elapsed(1)  # warm up
        elapsed(1)
        # What events show with nothing between them is no work.
        overhead = statistics.median(elapsed(0) for _ in range(EMPTY_SAMPLES))

        def sample(operations: int) -> float:
            return max(elapsed(operations) - overhead, TICK_SECONDS) / operations

        operations = min(math.ceil(SAMPLE_SECONDS / sample(1)), MOST_OPERATIONS)
        seconds = self._sampling.run(lambda: sample(operations))
        return Samples("cuda_events", operations, seconds, turn)

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
        cache: str = "not_applicable",
        computes: int = 0,
        checked: int = 0,
        model: dict[str, float] | None = None,
    ) -> None:
        """Takes a finished case into the record and prints its row. Parameters tell it from
        other cases, in every run alike; what is read beside the clock goes into `model`.
        """
        self._record["measurements"].append(
            {
                "case": case,
                "parameters": dict(sorted(parameters.items())),
                "clock": samples.clock,
                "cache": cache,
                "ceiling": ceiling,
                "bytes_read": reads,
                "bytes_written": writes,
                **({"arithmetic_operations": computes} if computes else {}),
                "elements_checked": checked,
                "operations_per_sample": samples.operations,
                "seconds": samples.seconds,
                **({"model": model} if model else {}),
            }
        )
        median = statistics.median(samples.seconds)
        spread = f"±{relative_half_width(samples.seconds):.1%}"
        rate = f"{(reads + writes) / median / 1e9:.4g} GB/s" if reads + writes else ""
        row = f"{median * 1e6:>12.5g} µs {spread:>7} {rate:>13}"
        self._say(f"{label(case, parameters):<56} {row}")

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
            cache="cold",
            checked=pairs * side * side,
        )

    def _skip(self, case: str, parameters: Parameters, reason: str) -> None:
        self._record["skipped"].append(
            {"case": case, "parameters": parameters, "reason": reason}
        )
        self._say(f"{label(case, parameters):<56} skipped: {reason}")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr if self._json else sys.stdout, flush=True)

    def finish(self) -> None:
        """Writes the record, all or nothing."""
        self._record["gpu_after"] = gpu_state(self._record["machine"])
        descriptor, draft = tempfile.mkstemp(prefix=".record-", dir=self._path.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text := to_json(self._record))
        os.chmod(draft, 0o644)
        os.replace(draft, self._path)
        self._say(f"recorded: {self._path}")
        if self._json:
            print(text, end="")


def label(case: str, parameters: Parameters) -> str:
    return " ".join([case, *(f"{name}={value}" for name, value in parameters.items())])


def command(arguments: list[str]) -> str:
    """The command line without `--results`, whose folder is left out."""
    words, skip = [], False
    for word in arguments:
        if not skip and not word.startswith("--results"):
            words.append(word)
        skip = word == "--results"
    return " ".join(["python3 -m baselines", *words])


def read_record(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failed(f"{path}: {error}") from error


def baselines() -> list[str]:
    """Names of the scripts in this folder that are baselines."""
    scripts = FOLDER.glob("*.py")
    return sorted(
        p.stem for p in scripts if "\ndef experiment(" in p.read_text("utf-8")
    )


def newest_record(results: Path, machine: str | None) -> dict[str, Any]:
    """The record that an experiment made last on this machine."""
    try:
        name = machine or (results / "this-machine").read_text("utf-8").strip()
    except OSError:
        name = ""
    paths = (results / name).rglob("*.json") if name else []
    records = [read_record(path) for path in paths if path.stem not in baselines()]
    records = [record for record in records if record["source"] == "measured"]
    if not records:
        raise CannotRun(
            f"{results} has no record of this machine to stand beside: run one of the "
            "workbook's experiments first"
        )
    return max(records, key=lambda record: record["run"]["started"])


def label_name(name: str) -> str:
    """A name that is safe as a folder's, as the record crate has it."""
    if not re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", name):
        raise argparse.ArgumentTypeError("take lower-case letters, digits and hyphens")
    return name


def check_replacement(
    path: Path, machine: dict[str, Any], quick: bool, label: str | None
) -> None:
    """A record must not silently be replaced by one of other hardware, nor a full one by
    a quick one, nor one that was given a label by any.
    """
    if not path.exists():
        return
    if label:
        raise Failed(f"{path} is there already: take another label than {label}")
    old = read_record(path)

    def hardware(machine: dict[str, Any]) -> list[Any]:
        return [[gpu["name"] for gpu in machine["gpus"]], machine["cpu"]]

    if hardware(old["machine"]) != hardware(machine):
        raise Failed(
            f"{path} was recorded on other hardware: replace it with --replace"
        )
    if quick and not old["run"]["quick"]:
        raise Failed(f"{path} holds a full run, which a quick one does not replace")


# NVML's words for why clocks are below their maximum, by bit; bit 0 means idle.
THROTTLE_REASONS = {
    1: "applications_clocks_setting",
    2: "sw_power_cap",
    3: "hw_slowdown",
    4: "sync_boost",
    5: "sw_thermal_slowdown",
    6: "hw_thermal_slowdown",
    7: "hw_power_brake_slowdown",
    8: "display_clock_setting",
}


def gpu_state(machine: dict[str, Any]) -> dict[str, Any]:
    """Clocks, temperature, power and throttling at this moment, as far as `nvidia-smi`
    reports them. It may number several GPUs differently from CUDA, so then it is not asked.
    """
    state: dict[str, Any] = {
        "sm_clock_khz": None,
        "memory_clock_khz": None,
        "temperature_celsius": None,
        "power_milliwatts": None,
        "throttle_reasons": None,
    }
    if len(machine["gpus"]) > 1 or not shutil.which("nvidia-smi"):
        return state
    query = (
        "clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active"
    )
    told = subprocess.run(
        ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=False,
    )
    readers: list[Callable[[str], Any]] = [
        lambda mhz: int(mhz) * 1000,
        lambda mhz: int(mhz) * 1000,
        int,
        lambda watts: round(float(watts) * 1000),
        lambda bits: [
            name for bit, name in THROTTLE_REASONS.items() if int(bits, 16) >> bit & 1
        ],
    ]
    for key, read, text in zip(state, readers, told.stdout.strip().split(", ")):
        try:
            state[key] = read(text)
        except ValueError:
            pass  # `[N/A]`: this machine does not report it
    return state


def to_json(record: dict[str, Any]) -> str:
    """Indented, but one line for each measurement, as the record crate writes it."""
    lists = ("measurements", "skipped")
    head = {key: value for key, value in record.items() if key not in lists}
    text = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    for key in lists:
        lines = [json.dumps(entry, ensure_ascii=False) for entry in record[key]]
        body = "\n    " + ",\n    ".join(lines) + "\n  " if lines else ""
        text += f',\n  "{key}": [{body}]'
    return text + "\n}\n"


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("take at least 1")
    return number


def parser() -> argparse.ArgumentParser:
    """The options; they mean what they mean for an experiment."""
    options = argparse.ArgumentParser(
        prog="python3 -m baselines",
        description="Measures a library doing what the workbook's experiments do, and "
        "records it beside the record that they made last on this machine.",
        epilog="Exit codes: 0 recorded, 1 failed, 2 wrong usage, 77 cannot run on this "
        "machine (no GPU, no library, no record to stand beside).",
    )
    option = options.add_argument
    option("baseline", choices=baselines(), help="the library to measure")
    option("--device", type=int, default=0, metavar="N", help="GPU to measure")
    option("--machine", metavar="NAME", help="folder of this machine's records")
    option("--label", type=label_name, metavar="NAME", help="keep this run beside others")
    option(
        "--samples",
        type=positive,
        metavar="N",
        help="take exactly N samples of each case",
    )
    option(
        "--results",
        type=Path,
        default=FOLDER.parents[1] / "results",
        metavar="DIR",
        help="folder of the records",
    )
    option("--quick", action="store_true", help="fewer samples, smaller sizes")
    option("--replace", action="store_true", help="replace any earlier record")
    option("--json", action="store_true", help="print the record, the table on stderr")
    return options


def main() -> int:
    """The command line; returns the exit code."""
    options = parser().parse_args()
    name = options.baseline
    try:
        lab = Lab(name, options)
        importlib.import_module(f"baselines.{name}").experiment(lab)
        lab.finish()
    except (CannotRun, ImportError) as error:
        print(f"{name} cannot run here: {error}", file=sys.stderr)
        return CANNOT_RUN
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    return RECORDED

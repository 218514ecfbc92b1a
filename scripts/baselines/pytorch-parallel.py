"""PyTorch training a perceptron on two GPUs, by DataParallel and by DistributedDataParallel."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from baselines.lab import CannotRun, Lab

# As many parameters as ResNet-50 has: 25 million.
LAYERS, WIDTH = 6, 2048
# Of a step, for both GPUs together. With 8,192 a GPU has about as much arithmetic as ResNet-50
# on 25 pictures, each 8 billion operations forward and twice that backward.
ROWS = (512, 8192, 32768)
# Steps of an operation, after which all GPUs are waited for.
STEPS = 5
GPUS = 2
# For the other process to begin, to do what it was told, and for a collective call.
PATIENCE_SECONDS = 60


def experiment(lab: Lab) -> None:
    """All cases: the whole batch on one GPU, and halves of it on two, by either way."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    if torch.cuda.device_count() < GPUS:
        raise CannotRun(f"needs {GPUS} GPUs; PyTorch finds {torch.cuda.device_count()}")
    gpus = [lab.device, 0 if lab.device else 1]
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    for rows in ROWS[:1] if lab.quick else ROWS:
        right = one_gpu(lab, rows, gpus)
        data_parallel(lab, rows, gpus, right)
        distributed(lab, rows, gpus, right)


def perceptron(gpu: int) -> nn.Module:
    """The same model on each call and in each process. Matmuls are in TF32."""
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH, device=place(gpu)), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def place(gpu: int) -> torch.device:
    return torch.device("cuda", gpu)


def batch(rows: int) -> Tensor:
    """The same numbers in each process, in pinned memory."""
    generator = torch.Generator().manual_seed(2)
    return torch.randn(rows, WIDTH, generator=generator).pin_memory()


class Trainer:
    """Steps of training on one piece of a batch."""

    def __init__(self, model: nn.Module, wrapped: nn.Module, data: Tensor) -> None:
        self.model, self.wrapped, self.data = model, wrapped, data
        self.optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(self) -> None:
        """Forward, backward and update. The batch comes from the host."""
        self.optimiser.zero_grad()
        # DataParallel itself copies each GPU's part there.
        is_split = isinstance(self.wrapped, DataParallel)
        data = self.data if is_split else self.data.cuda(non_blocking=True)
        self.wrapped(data).square().sum(1).mean().backward()
        self.optimiser.step()

    def steps(self) -> None:
        for _ in range(STEPS):
            self.step()

    def change(self) -> Tensor:
        """What the steps so far did to the parameters, which must have been two operations'."""
        gpu = next(self.model.parameters()).device.index
        pairs = zip(self.model.parameters(), perceptron(gpu).parameters(), strict=True)
        return torch.cat([(now - then).detach().flatten() for now, then in pairs]).cpu()


def measure(
    lab: Lab,
    kind: str,
    rows: int,
    operation: Callable[[], None],
    trainer: Trainer,
    right: Tensor | None,
) -> Tensor:
    """Times operations, after the result of the first two was compared with that of one GPU."""
    operation()
    operation()
    change = trainer.change()
    if right is not None:
        # Sums over rows have another order.
        off = (change - right).norm() / right.norm()
        lab.check(f"{kind}, {rows} rows", off.item() < 0.005)
    lab.check(f"{kind}, a change", change.isfinite().all().item() and change.norm() > 0)
    samples = lab.time_on_host(lambda _: operation())
    parameters = {"kind": kind, "rows": rows, "steps": STEPS}
    lab.record("training", parameters, samples, checked=change.numel())
    return change


def wait(gpus: list[int]) -> None:
    for gpu in gpus:
        torch.cuda.synchronize(gpu)


def one_gpu(lab: Lab, rows: int, gpus: list[int]) -> Tensor:
    model = perceptron(gpus[0])
    trainer = Trainer(model, model, batch(rows))

    def operation() -> None:
        trainer.steps()
        wait(gpus[:1])

    return measure(lab, "one_gpu", rows, operation, trainer, None)


def data_parallel(lab: Lab, rows: int, gpus: list[int], right: Tensor) -> None:
    with lab.attempt("training", {"kind": "data_parallel", "rows": rows, "steps": STEPS}):
        model = perceptron(gpus[0])
        trainer = Trainer(model, DataParallel(model, gpus), batch(rows))

        def operation() -> None:
            trainer.steps()
            wait(gpus)

        measure(lab, "data_parallel", rows, operation, trainer, right)


def distributed(lab: Lab, rows: int, gpus: list[int], right: Tensor) -> None:
    """This process has the first half of the batch, and another one the second."""
    kind = "distributed_data_parallel"
    with lab.attempt("training", {"kind": kind, "rows": rows, "steps": STEPS}):
        with (
            other_process(rows, gpus[1]) as other,
            rank(0, rows, gpus[0], other.path) as trainer,
        ):

            def operation() -> None:
                other.say("steps")
                trainer.steps()
                wait(gpus[:1])
                other.hear("done")

            try:
                other.hear("begun")
                measure(lab, kind, rows, operation, trainer, right)
            finally:
                other.say("end")  # both leave the group together


@contextmanager
def rank(number: int, rows: int, gpu: int, path: str) -> Iterator[Trainer]:
    """A process that trains on its part of the batch. All find each other by a file."""
    torch.cuda.set_device(gpu)
    torch.distributed.init_process_group(
        "nccl",
        init_method=f"file://{path}",
        rank=number,
        world_size=GPUS,
        timeout=timedelta(seconds=PATIENCE_SECONDS),
        device_id=place(gpu),
    )
    try:
        model = perceptron(gpu)
        wrapped = DistributedDataParallel(model, device_ids=[gpu])
        yield Trainer(model, wrapped, batch(rows).chunk(GPUS)[number])
    finally:
        torch.distributed.destroy_process_group()


class Other:
    """The other process, as this one sees it."""

    def __init__(self, process: Any, pipe: Connection, path: str) -> None:
        self.process, self.pipe, self.path = process, pipe, path

    def say(self, word: str) -> None:
        with suppress(OSError):  # it is gone; what comes next tells why
            self.pipe.send(word)

    def hear(self, expected: str) -> None:
        if not self.pipe.poll(PATIENCE_SECONDS):
            raise TimeoutError(
                f"the other process was not {expected} after {PATIENCE_SECONDS} s"
            )
        try:
            word = self.pipe.recv()
        except EOFError:
            word = "the other process ended"
        if word != expected:
            raise RuntimeError(word)


@contextmanager
def other_process(rows: int, gpu: int) -> Iterator[Other]:
    """A process that has come as far as PyTorch. It is gone at the end, in any case."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ranks")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, rows, gpu, path), daemon=True)
        process.start()
        theirs.close()
        try:
            other = Other(process, ours, path)
            other.hear("there")
            yield other
            process.join(PATIENCE_SECONDS)
        finally:
            if process.is_alive():
                process.kill()
                process.join()


def serve(pipe: Connection, rows: int, gpu: int, path: str) -> None:
    """What the other process does: as many steps as it is told."""
    pipe.send("there")
    try:
        with rank(1, rows, gpu, path) as trainer:
            pipe.send("begun")
            while pipe.poll(PATIENCE_SECONDS) and pipe.recv() == "steps":
                trainer.steps()
                wait([gpu])
                pipe.send("done")
    except (EOFError, BrokenPipeError):
        pass  # the first process is gone
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")

"""PyTorch training three small models: how many bytes are allocated after each phase of a step."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import torch
import torch.utils.checkpoint
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import gelu, relu, scaled_dot_product_attention

from baselines.lab import CannotRun, Lab

# Those that never have the whole matrix of scores.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
PHASES = ("forward", "backward", "step")
# Where most is allocated, and where all but the activations is.
TELLING = ("forward", "step")
# Of the perceptron: layers, width and rows.
LAYERS, WIDTH, ROWS = 8, 4096, 2048
# Of the stack, the model `small-stack` of experiments/shared/budget/data.toml.
BLOCKS, HIDDEN, HEADS, INTERMEDIATE = 8, 1024, 16, 4096
BATCH, TOKENS, RANK = 4, 1024, 16


def experiment(lab: Lab) -> None:
    """Every model in every precision."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    measure(lab, "perceptron", "fp32")
    for precision in ("fp32", "bf16", "autocast"):
        measure(lab, "stack", precision)
    for name in ("stack_checkpointed", "stack_lora"):
        measure(lab, name, "bf16")


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = relu(layer(x))
        return self.layers[-1](x)


# ANCHOR: adapted
class Adapted(nn.Module):
    """A frozen matrix with two thin ones beside it."""

    def __init__(self, matrix: nn.Linear) -> None:
        super().__init__()
        self.matrix = matrix.requires_grad_(False)
        self.down = nn.Linear(matrix.in_features, RANK, bias=False)
        self.up = nn.Linear(RANK, matrix.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.matrix(x) + self.up(self.down(x))

    # ANCHOR_END: adapted


class Block(nn.Module):
    """A transformer's block, with attention whose scores are never written."""

    def __init__(self, linear: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN, bias=False) for _ in range(2))
        self.queries, self.keys, self.values, self.out = (
            linear(HIDDEN, HIDDEN) for _ in range(4)
        )
        self.widen, self.narrow = linear(HIDDEN, INTERMEDIATE), linear(INTERMEDIATE, HIDDEN)

    # ANCHOR: block
    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        heads = [
            part(y).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in (self.queries, self.keys, self.values)
        ]
        y = scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.narrow(gelu(self.widen(self.norms[1](x))))

    # ANCHOR_END: block


class Stack(nn.Module):
    def __init__(self, is_checkpointed: bool, has_adapters: bool) -> None:
        super().__init__()

        def linear(inputs: int, outputs: int) -> nn.Module:
            matrix = nn.Linear(inputs, outputs, bias=False)
            return Adapted(matrix) if has_adapters else matrix

        self.is_checkpointed = is_checkpointed
        self.blocks = nn.ModuleList(Block(linear) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(HIDDEN, bias=False)
        if has_adapters:
            for module in self.modules():
                if isinstance(module, nn.LayerNorm):
                    module.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            if self.is_checkpointed:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.norm(x)


class Trainer:
    """One step of training, a phase at a time. The loss is the sum: it keeps nothing."""

    def __init__(self, name: str, precision: str) -> None:
        torch.manual_seed(0)
        kind = torch.bfloat16 if precision == "bf16" else torch.float32
        with torch.device("cuda"):
            if name == "perceptron":
                model: nn.Module = Perceptron()
                shape: tuple[int, ...] = (ROWS, WIDTH)
            else:
                model = Stack(name == "stack_checkpointed", name == "stack_lora")
                shape = (BATCH, TOKENS, HIDDEN)
            self.model = model.to(kind)
            self.input = torch.randn(shape, dtype=kind)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(self.trained, lr=1e-4)
        self.autocasts = precision == "autocast"
        self.loss: Tensor | None = None

    def forward(self) -> None:
        casts = torch.autocast("cuda", torch.bfloat16) if self.autocasts else nullcontext()
        with sdpa_kernel(BACKENDS), casts:
            self.loss = self.model(self.input).sum()

    def backward(self) -> None:
        # Checkpointed blocks are computed again here, and in the same way.
        with sdpa_kernel(BACKENDS):
            self.loss.backward()
        self.loss = None

    def step(self) -> None:
        self.optimiser.step()


def measure(lab: Lab, name: str, precision: str) -> None:
    """Bytes after each of the telling phases, less those that are there when no model is: the
    libraries' workspaces, which the first step of all makes.
    """
    warm = Trainer(name, precision)
    for phase in PHASES:
        getattr(warm, phase)()
    del warm
    collect()
    workspace = torch.cuda.memory_allocated()

    for phase in TELLING:
        trainer: Trainer | None = None

        def before() -> None:
            nonlocal trainer
            trainer = None  # two are never there at once
            trainer = Trainer(name, precision)
            for earlier in PHASES[: PHASES.index(phase)]:
                getattr(trainer, earlier)()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()

        def work(_: int) -> None:
            getattr(trainer, phase)()
            torch.cuda.synchronize()

        samples = lab.time_on_host(work, before=before)
        state = {
            "parameters": sum(p.numel() for p in trainer.model.parameters()),
            "trained": sum(p.numel() for p in trainer.trained),
            "input_bytes": trainer.input.nbytes,
            "workspace_bytes": workspace,
            "allocated_bytes": torch.cuda.memory_allocated() - workspace,
            "peak_bytes": torch.cuda.max_memory_allocated() - workspace,
        }
        model = {"reserved_bytes": float(torch.cuda.memory_reserved())}
        checked = check(lab, name, trainer, phase)
        key = {"model": name, "precision": precision, "phase": phase}
        lab.record("training", {**key, **state}, samples, checked=checked, model=model)
        trainer = None
        collect()


def check(lab: Lab, name: str, trainer: Trainer, phase: str) -> int:
    """That what is counted is there: gradients and moments of all trained parameters, each
    finite. Returns how many numbers were looked at.
    """

    def tensors() -> Iterator[Tensor]:
        yield from trainer.model.parameters()
        if phase == "step":
            yield from (parameter.grad for parameter in trainer.trained)
            for state in trainer.optimiser.state.values():
                yield from (state["exp_avg"], state["exp_avg_sq"])

    everything = list(tensors())
    finite = all(bool(tensor.isfinite().all()) for tensor in everything)
    lab.check(f"{name}, {phase}", finite)
    return sum(tensor.numel() for tensor in everything)


def collect() -> None:
    """Gives back what nothing refers to any more."""
    gc.collect()
    torch.cuda.empty_cache()

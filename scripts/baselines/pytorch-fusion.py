"""PyTorch with and without `torch.compile`: what `fusion` measures, and a Transformer block."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from baselines.lab import CannotRun, Lab

SCALE, BIAS = 3.0, -1.5
# As many elements as `fusion` has, from four times the L2 cache on.
PERIOD = 65_521

# The block's; the source's listing on checkpoints has these widths.
WIDTH, HEADS, BATCH, TOKENS = 1024, 16, 8, 512


def experiment(lab: Lab) -> None:
    """All cases, on a stream that is not the default one."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    with torch.cuda.stream(torch.cuda.Stream()):
        layers(lab)
        blocks(lab)


def ways(run: Callable) -> list[tuple[str, Callable]]:
    """A function or module as it is, and compiled."""
    return [("eager", run), ("compiled", torch.compile(run))]


def layer(x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return functional.gelu(x * SCALE + BIAS, approximate="tanh") + residual


def layers(lab: Lab) -> None:
    """The cases `layer` of `fusion`, by events. The bytes are those that its kernels need."""
    stream = torch.cuda.current_stream().cuda_stream
    elements = 4 * (4 * lab.l2_bytes // 16 + 1)
    ramp = torch.arange(elements, device="cuda")
    x = ((ramp % PERIOD) + 0.5) / PERIOD
    residual = ((7 * ramp % PERIOD) + 0.5) / PERIOD
    right = layer(x.double(), residual.double())
    for kind, run in ways(layer):
        samples = lab.time_on_gpu(stream, lambda _: run(x, residual))
        near = torch.allclose(run(x, residual).double(), right, rtol=0, atol=1e-5)
        lab.check(f"layer {kind}", near)
        reads, writes = (5, 4) if kind == "eager" else (2, 1)
        lab.record(
            "layer",
            {"kind": kind, "elements": elements},
            samples,
            reads=reads * elements * 4,
            writes=writes * elements * 4,
            ceiling="device_memory",
            touched=2 * elements * 4,
            checked=elements,
        )


class Block(torch.nn.Module):
    """Attention and two products, each after a LayerNorm and beside what it got."""

    def __init__(self) -> None:
        super().__init__()
        linear = torch.nn.Linear
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.projections, self.mixed = linear(WIDTH, 3 * WIDTH), linear(WIDTH, WIDTH)
        self.wide, self.narrow = linear(WIDTH, 4 * WIDTH), linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.projections(self.norm1(x)).unflatten(-1, (3, HEADS, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.mixed(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))


def blocks(lab: Lab) -> None:
    """A block in bfloat16, by the host's clock: what a program waits for."""
    torch.manual_seed(1)
    block = Block().to("cuda", torch.bfloat16)
    x = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    stream = torch.cuda.current_stream()

    def inference(block: torch.nn.Module) -> torch.Tensor:
        with torch.no_grad():
            return block(x)

    def training(block: torch.nn.Module) -> torch.Tensor:
        block.zero_grad()
        block(x).square().mean().backward()
        return weight.grad

    weight = block.wide.weight
    for step in (inference, training):
        results = {}
        for kind, run in ways(block):

            def turn(_: int) -> torch.Tensor:
                result = step(run)
                stream.synchronize()
                return result

            samples = lab.time_on_host(turn)
            results[kind] = turn(0).float()
            parameters, checked = {"kind": kind}, results[kind].numel()
            lab.record(step.__name__, parameters, samples, checked=checked)
        # Fused, fewer intermediates are rounded to the 8 bits of bfloat16.
        off = results["compiled"] - results["eager"]
        share = (off.norm() / results["eager"].norm()).item()
        lab.check(f"{step.__name__}, compiled", share < 0.02)

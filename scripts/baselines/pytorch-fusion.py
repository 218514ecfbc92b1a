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
WIDTH, HEADS, BATCH, TOKENS, MANY_TOKENS = 1024, 16, 8, 512, 4096
# The modes of `torch.compile`; none is eager.
MODES = {"eager": None, "compiled": "default", "reduce_overhead": "reduce-overhead"}


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
    """A function as it is, and compiled."""
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
    """A block in bfloat16. With few tokens it is timed by the host's clock, which is what a
    program waits for; with many by events, all work queued ahead, which is what the GPU takes.
    """
    stream = torch.cuda.current_stream()
    for tokens in (TOKENS, MANY_TOKENS):
        is_queued = tokens == MANY_TOKENS
        torch.manual_seed(1)
        block = Block().to("cuda", torch.bfloat16)
        x = torch.randn(BATCH, tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
        weight = block.wide.weight

        def inference(run: Callable) -> torch.Tensor:
            with torch.no_grad():
                return run(x)

        def training(run: Callable) -> torch.Tensor:
            block.zero_grad()
            run(x).square().mean().backward()
            return weight.grad

        for step in (inference, training):
            right = step(block).double()
            for kind, mode in MODES.items():
                name, parameters = step.__name__, {"kind": kind}
                if is_queued:
                    name, parameters = f"queued_{name}", {**parameters, "tokens": tokens}
                with lab.attempt(name, parameters):
                    torch.compiler.reset()
                    run = block
                    if mode is not None:
                        run = torch.compile(block, mode=mode, dynamic=False)

                    def turn(_: int) -> torch.Tensor:
                        torch.compiler.cudagraph_mark_step_begin()
                        result = step(run)
                        if not is_queued:
                            stream.synchronize()
                        return result

                    for _ in range(3):
                        turn(0)  # compiles, and records the graph
                    if is_queued:
                        samples = lab.time_on_gpu(stream.cuda_stream, turn)
                    else:
                        samples = lab.time_on_host(turn)
                    # Fused, fewer intermediates are rounded to the 8 bits of bfloat16.
                    off = (turn(0).double() - right).norm() / right.norm()
                    lab.check(f"{name}, {kind}", off.item() < 0.02)
                    lab.record(name, parameters, samples, checked=right.numel())
                    block.zero_grad()  # what lies in a graph's memory goes before the graph

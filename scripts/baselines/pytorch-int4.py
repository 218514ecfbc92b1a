"""PyTorch's matmul with weights of 4 bits beside the one in bfloat16, for one vector to many:
what `quantised-weights` measures for one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import linear

from baselines.lab import CannotRun, Lab

# Of a matrix, a layer of Llama 3 8B, and how many neighbours share a scale and a zero point.
ROWS, COLUMNS, GROUP = 14336, 4096, 128
VECTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# Of the packed weights, as PyTorch's kernel wants them.
INNER_TILES = 8


def experiment(lab: Lab) -> None:
    """All cases, on a stream that is not the default one."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    with torch.cuda.stream(torch.cuda.Stream()):
        products(lab)


class Quantised:
    """Random weights of 4 bits, packed two by two, with their scales and zero points."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        groups = (ROWS, COLUMNS // GROUP)
        numbers = torch.randint(0, 16, (ROWS, COLUMNS), dtype=torch.uint8, device="cuda")
        self.pairs = numbers[:, ::2] << 4 | numbers[:, 1::2]
        self.scales = (0.01 + 0.01 * torch.rand(groups, device="cuda")).bfloat16()
        self.zeros = (0.02 * torch.rand(groups, device="cuda") - 0.01).bfloat16()

    def for_kernel(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights in the kernel's order, and a scale and a zero point for each group."""
        packed = torch.ops.aten._convert_weight_to_int4pack(self.pairs, INNER_TILES)
        both = torch.stack((self.scales, self.zeros), -1).transpose(0, 1).contiguous()
        return packed, both


def unpack(pairs: torch.Tensor, scales: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
    """The weights in bfloat16."""
    numbers = torch.stack((pairs >> 4, pairs & 15), -1).view(ROWS, -1, GROUP).float() - 8
    weights = numbers * scales.float()[..., None] + zeros.float()[..., None]
    return weights.bfloat16().view(ROWS, COLUMNS)


def products(lab: Lab) -> None:
    """Every way for every number of vectors. Each has as many matrices in turn as it takes to
    touch four times the L2 cache.
    """
    quantised = Quantised()
    plain = unpack(quantised.pairs, quantised.scales, quantised.zeros)
    pack_bytes = ROWS * COLUMNS // 2 + ROWS * COLUMNS // GROUP * 4
    copies = -(-4 * lab.l2_bytes // pack_bytes)
    plains = [plain.clone() for _ in range(copies)]

    def bf16(x: torch.Tensor) -> Callable[[int], torch.Tensor]:
        return lambda turn: linear(x, plains[turn % copies])

    def int4(x: torch.Tensor) -> Callable[[int], torch.Tensor]:
        packed, both = quantised.for_kernel()
        packs = [(packed.clone(), both.clone()) for _ in range(copies)]

        def multiply(turn: int) -> torch.Tensor:
            packed, both = packs[turn % copies]
            return torch.ops.aten._weight_int4pack_mm(x, packed, GROUP, both)

        return multiply

    # Weights that one kernel unpacks into memory, where the matmul in bfloat16 reads them.
    unpacks = torch.compile(unpack, dynamic=False)

    def unpacked(x: torch.Tensor) -> Callable[[int], torch.Tensor]:
        parts = (quantised.pairs, quantised.scales, quantised.zeros)
        sets = [[part.clone() for part in parts] for _ in range(copies)]
        return lambda turn: linear(x, unpacks(*sets[turn % copies]))

    stream = torch.cuda.current_stream().cuda_stream
    for vectors in VECTORS[:2] if lab.quick else VECTORS:
        x = (2 * torch.rand(vectors, COLUMNS, device="cuda") - 1).bfloat16()
        right = x.double() @ plain.double().T
        for way, weight_bytes in (
            (bf16, ROWS * COLUMNS * 2),
            (int4, pack_bytes),
            (unpacked, pack_bytes),
        ):
            parameters = {"weights": way.__name__, "vectors": vectors}
            with lab.attempt("product", parameters), torch.no_grad():
                multiply = way(x)
                multiply(0)  # here it fails, if it does
                samples = lab.time_on_gpu(stream, multiply)
                for turn in range(copies):
                    off = (multiply(turn).double() - right).norm() / right.norm()
                    lab.check(f"{way.__name__}, {vectors} vectors", off.item() < 0.01)
                lab.record(
                    "product",
                    parameters,
                    samples,
                    reads=weight_bytes + vectors * COLUMNS * 2,
                    writes=vectors * ROWS * 2,
                    ceiling="device_memory",
                    touched=copies * weight_bytes,
                    computes=2 * vectors * ROWS * COLUMNS,
                    checked=copies * right.numel(),
                )

"""Makes triton.ptx, what Triton makes of ordinary kernels, for ../compilers.rs:

    python3 triton-kernels.py

Made with Triton 3.6.0, which needs no GPU for it. A line before each kernel has the warps of a
block and the bytes of dynamic shared memory that it is launched with. To the parameters that are
declared here Triton adds two pointers of its own, to memory that these kernels do not ask for.
"""

import os
import pathlib
import re

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def masked(x, y, n, BLOCK: tl.constexpr):
    """A program has more elements than threads, and fewer than a block of elements are left."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=7)
    b = tl.load(x + n - 1 - i, mask=i < n, other=0)
    tl.store(y + i, a * 3 + (b >> 5), mask=i < n)


@triton.jit
def sums(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Reductions along both axes, through shuffles and shared memory, and a scan."""
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    tile = tl.load(x + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(y + rows, tl.sum(tile, axis=1))
    tl.store(y + ROWS + columns, tl.max(tile, axis=0))
    tl.store(y + ROWS + COLUMNS + columns, tl.cumsum(tl.sum(tile, axis=0), axis=0))


@triton.jit
def counts(x, y, n, BLOCK: tl.constexpr):
    """Atomic operations, and a transpose, which goes through shared memory."""
    i = tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.load(x + i) % n, i)
    square = tl.load(x + i[:, None] * BLOCK + i[None, :])
    tl.store(y + n + i[:, None] * BLOCK + i[None, :], tl.trans(square))


@triton.jit
def product(a, b, c, k, SIZE: tl.constexpr, STEP: tl.constexpr):
    """A matrix product on tensor cores, with asynchronous copies for the next steps."""
    i = tl.arange(0, SIZE)
    s = tl.arange(0, STEP)
    sum = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for first in range(0, k, STEP):
        left = tl.load(a + i[:, None] * k + first + s[None, :])
        right = tl.load(b + (first + s[:, None]) * SIZE + i[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + i[:, None] * SIZE + i[None, :], sum)


def ptx(kernel, signature, constants, warps, stages=3):
    source = ASTSource(kernel, signature | dict.fromkeys(constants, "constexpr"), constants,
                       attrs={(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]})
    options = {"num_warps": warps, "num_stages": stages}
    made = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
    text = made.asm["ptx"]
    head, body = text.split(".visible .entry", 1)
    declared = re.findall(r"^\.extern .*;$", head, re.M)
    note = f"// {kernel.__name__}: {warps} warps, {made.metadata.shared} bytes\n"
    return head, declared, note + ".visible .entry" + body


kernels = [
    ptx(masked, {"x": "*i32", "y": "*i32", "n": "i32"}, {"BLOCK": 256}, 2),
    ptx(sums, {"x": "*i32", "y": "*i32"}, {"ROWS": 16, "COLUMNS": 64}, 4),
    ptx(counts, {"x": "*i32", "y": "*i32", "n": "i32"}, {"BLOCK": 32}, 2),
    ptx(product, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "k": "i32"},
        {"SIZE": 32, "STEP": 32}, 4),
]
head = re.search(r"\.version.*?\.address_size 64\n", kernels[0][0], re.S)[0]
shared = sorted({line for _, declared, _ in kernels for line in declared})
text = f"// Made by triton-kernels.py with Triton {triton.__version__}.\n" + head
text += "".join(line + "\n" for line in shared) + "".join(body for _, _, body in kernels)
text = re.sub(r"[ \t]+$", "", re.sub(r"[ \t]*//(?! (Made|\w+: \d+ warps)).*", "", text), flags=re.M)
pathlib.Path(__file__).with_name("triton.ptx").write_text(re.sub(r"\n\n+", "\n", text))

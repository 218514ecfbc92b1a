"""PyTorch doing the chapter's Python examples, correctly."""

from __future__ import annotations

import ctypes

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from baselines.lab import KINDS, CannotRun, Lab


def experiment(lab: Lab) -> None:
    """All cases, on a stream that is not the default one."""
    if not torch.cuda.is_available():
        raise CannotRun("PyTorch finds no GPU")
    torch.cuda.set_device(lab.device)
    gpu, free_bytes = torch.cuda.get_device_name(), torch.cuda.mem_get_info()[0]
    lab.begin(f"PyTorch {torch.__version__}", gpu, free_bytes)
    with torch.cuda.stream(torch.cuda.Stream()):
        copies(lab)
        queued_copies(lab)
        new_copies(lab)
        transposes(lab)
        allocations(lab)
        counters(lab)
        pointers(lab)
        overlap(lab)
        attention(lab)


def copies(lab: Lab) -> None:
    """Between buffers that are there already, by the host's clock: the cases `copy` of
    `host-memory`. As there, each turn takes the next piece of the host's buffer.
    """
    stream = torch.cuda.current_stream()
    ramp = values(0, lab.words)
    device = torch.zeros_like(ramp, device="cuda")
    for kind in KINDS:
        # ANCHOR: kinds
        host = torch.empty(lab.words, dtype=torch.int32, pin_memory=kind == "pinned")
        # ANCHOR_END: kinds
        for size in lab.sizes:
            words = size // 4
            pieces, buffer = host.split(words), device[:words]

            # ANCHOR: copy
            def to_gpu(turn: int) -> None:
                buffer.copy_(pieces[turn % len(pieces)], non_blocking=True)
                stream.synchronize()

            def to_host(turn: int) -> None:
                pieces[turn % len(pieces)].copy_(buffer, non_blocking=True)
                stream.synchronize()

            # ANCHOR_END: copy

            host.copy_(ramp)
            buffer.zero_()
            samples = lab.time_on_host(to_gpu)
            expected = ramp.split(words)[samples.last_turn % len(pieces)]
            lab.check(f"{kind} to the GPU", torch.equal(buffer.cpu(), expected))
            lab.record_copy("copy", "host_to_device", size, samples, kind=kind)

            buffer.copy_(ramp[:words])
            host.zero_()
            samples = lab.time_on_host(to_host)
            got = pieces[samples.last_turn % len(pieces)]
            lab.check(f"{kind} to the host", torch.equal(got, ramp[:words]))
            lab.record_copy("copy", "device_to_host", size, samples, kind=kind)


def queued_copies(lab: Lab) -> None:
    """Pinned copies, queued back to back and timed on the GPU: the cases `copy` of
    `transfer-bandwidth`.
    """
    stream = torch.cuda.current_stream().cuda_stream
    ramp = values(0, lab.words)
    host = ramp.pin_memory()
    device = torch.zeros_like(ramp, device="cuda")
    for size in lab.sizes:
        words = size // 4
        source, received = host[:words], device[:words]
        received.zero_()
        # ANCHOR: queued
        samples = lab.time_on_gpu(
            stream, lambda _: received.copy_(source, non_blocking=True)
        )
        # ANCHOR_END: queued
        lab.check("queued to the GPU", torch.equal(received.cpu(), ramp[:words]))
        lab.record_copy("queued_copy", "host_to_device", size, samples)

        source.zero_()
        samples = lab.time_on_gpu(
            stream, lambda _: source.copy_(received, non_blocking=True)
        )
        lab.check("queued to the host", torch.equal(source, ramp[:words]))
        lab.record_copy("queued_copy", "device_to_host", size, samples)


def new_copies(lab: Lab) -> None:
    """What the chapter's listing does: `.cuda()` and `.cpu()`, which return a new tensor
    each time, from and to pageable memory.
    """
    host = values(0, lab.words)
    device = host.cuda()

    # ANCHOR: new
    def cuda(_: int) -> torch.Tensor:
        tensor = host.cuda()
        torch.cuda.current_stream().synchronize()
        return tensor

    def cpu(_: int) -> torch.Tensor:
        return device.cpu()

    # ANCHOR_END: new

    samples = lab.time_on_host(cuda)
    clear_pool(host.shape, 1)
    lab.check("`.cuda()`", torch.equal(cuda(0).cpu(), host))
    lab.record_copy("new_copy", "host_to_device", lab.sizes[-1], samples)
    samples = lab.time_on_host(cpu)
    lab.check("`.cpu()`", torch.equal(samples.last_result, host))
    lab.record_copy("new_copy", "device_to_host", lab.sizes[-1], samples)


def transposes(lab: Lab) -> None:
    """The cases of `transpose`, with as many pairs of matrices in turn as it takes."""
    stream = torch.cuda.current_stream().cuda_stream
    for side in lab.sides:
        pairs = lab.pairs(side)
        if not pairs:
            continue
        matrix = values(0, side * side).view(side, side)
        inputs = [matrix.cuda() for _ in range(pairs)]
        outputs: dict[int, torch.Tensor] = {}

        # ANCHOR: transpose
        def transpose(turn: int) -> None:
            outputs[turn % pairs] = inputs[turn % pairs].t().contiguous()

        # ANCHOR_END: transpose

        samples = lab.time_on_gpu(stream, transpose)
        row = torch.arange(side, dtype=torch.int32, device="cuda")
        expected = (row * side + row[:, None]) * ODD
        outputs.clear()
        clear_pool((side, side), pairs)
        for turn in range(pairs):
            transpose(turn)
        for output in outputs.values():
            lab.check(f"transpose {side}", torch.equal(output, expected))
        lab.record_transpose(side, pairs, samples)


def allocations(lab: Lab) -> None:
    """Allocate and give back, with PyTorch's pool and without it, and the pool's memory alone,
    by its C++ functions, which Python's calls still add to: the cases `pair` of `allocation`.
    """
    alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
    delete = torch._C._cuda_cudaCachingAllocator_raw_delete
    stream = torch.cuda.current_stream().cuda_stream
    for size in lab.allocations:

        # ANCHOR: allocate
        def allocate(_: int) -> None:
            tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
            del tensor  # back to the pool, not to the driver

        # ANCHOR_END: allocate

        def allocate_memory(_: int) -> None:
            delete(alloc(size, stream))

        for kind, work in (("pooled", allocate), ("pool_alone", allocate_memory)):
            samples = lab.time_on_host(work, repeat=True)
            lab.record("allocate_and_release", {"kind": kind, "bytes": size}, samples)
        torch.cuda.empty_cache()
        torch.cuda.memory.caching_allocator_enable(False)
        try:
            samples = lab.time_on_host(allocate, repeat=True)
        finally:
            torch.cuda.memory.caching_allocator_enable(True)
        lab.record("allocate_and_release", {"kind": "unpooled", "bytes": size}, samples)


def counters(lab: Lab) -> None:
    """What PyTorch's two counters say after each step of a tensor's life."""
    size, tensors = 64 << 20, []

    # ANCHOR: counters
    def empty(_: int) -> None:
        tensors.append(torch.empty(size, dtype=torch.uint8, device="cuda"))

    def delete(_: int) -> None:
        tensors.clear()  # the last reference, as with `del`

    def empty_cache(_: int) -> None:
        torch.cuda.empty_cache()

    # ANCHOR_END: counters

    steps = {"empty": empty, "del": delete, "empty_cache": empty_cache}
    for last, (step, work) in enumerate(steps.items()):

        def before() -> None:
            for earlier in [delete, empty_cache, *list(steps.values())[:last]]:
                earlier(0)

        samples = lab.time_on_host(work, before=before)
        counts = {
            "allocated_bytes": torch.cuda.memory_allocated(),
            "reserved_bytes": torch.cuda.memory_reserved(),
        }
        lab.record("counters", {"step": step, "bytes": size, **counts}, samples)
        delete(0)


def pointers(lab: Lab) -> None:
    """Asks the driver whether a tensor's memory is managed (1) or not (0), and the same of
    memory that is.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    size, is_managed, attach_global = 1 << 20, 8, 1  # in the words of cuda.h
    tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
    managed = ctypes.c_uint64()
    code = driver.cuMemAllocManaged(
        ctypes.byref(managed), ctypes.c_size_t(size), attach_global
    )
    lab.check("cuMemAllocManaged", code == 0)
    for memory, address in (("tensor", tensor.data_ptr()), ("managed", managed.value)):
        pointer, answer = ctypes.c_uint64(address), ctypes.c_uint()

        def ask(_: int) -> int:
            code = driver.cuPointerGetAttribute(
                ctypes.byref(answer), is_managed, pointer
            )
            lab.check("cuPointerGetAttribute", code == 0)
            return answer.value

        samples = lab.time_on_host(ask, repeat=True)
        lab.record("pointer", {"memory": memory, "managed": answer.value}, samples)
    lab.check("cuMemFree", driver.cuMemFree_v2(managed) == 0)


def overlap(lab: Lab) -> None:
    """A copy to the GPU and a product there that does not need it: on one stream and on
    two, from pageable and from pinned memory.
    """
    side = 2048 if lab.quick else 8192
    # Whole numbers from 0 to 7, so that the product is exact.
    left = (values(0, side * side).view(side, side).cuda() >> 8 & 7).float()
    right = (values(1, side * side).view(side, side).cuda() >> 8 & 7).float()
    expected = (left.double() @ right.double()).float()
    product = torch.zeros_like(left)
    ramp = values(0, lab.words)
    incoming = torch.zeros_like(ramp, device="cuda")

    def multiply(_: int) -> None:
        torch.mm(left, right, out=product)
        torch.cuda.current_stream().synchronize()

    torch.cuda.synchronize()
    samples = lab.time_on_host(multiply)
    lab.check("product", torch.equal(product, expected))
    lab.record("product", {"side": side}, samples, checked=side * side)

    for kind in KINDS:
        source = ramp.pin_memory() if kind == "pinned" else ramp
        for streams in (1, 2):
            # ANCHOR: streams
            copying = torch.cuda.Stream()
            computing = torch.cuda.Stream() if streams == 2 else copying

            def copy_and_multiply(_: int) -> None:
                with torch.cuda.stream(copying):
                    incoming.copy_(source, non_blocking=True)
                with torch.cuda.stream(computing):
                    torch.mm(left, right, out=product)
                copying.synchronize()
                computing.synchronize()

            # ANCHOR_END: streams

            incoming.zero_()
            product.zero_()
            torch.cuda.synchronize()
            samples = lab.time_on_host(copy_and_multiply)
            lab.check("product beside a copy", torch.equal(product, expected))
            lab.check("copy beside a product", torch.equal(incoming.cpu(), ramp))
            lab.record(
                "copy_and_product",
                {
                    "kind": kind,
                    "streams": streams,
                    "bytes": lab.sizes[-1],
                    "side": side,
                },
                samples,
                checked=side * side + lab.words,
            )


# ANCHOR: attention
def listing(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The guide's `standard_attention`."""
    scores = torch.matmul(q, k.transpose(-2, -1)) / (q.size(-1) ** 0.5)
    attn = torch.softmax(scores, dim=-1)
    return torch.matmul(attn, v)


# ANCHOR_END: attention

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}


def attention(lab: Lab) -> None:
    """The guide's attention in BF16, by its listing and by PyTorch's kernels: the cases
    `tensor` of `attention-memory`. The listing comments its dimensions as (batch, tokens,
    heads, head), for which it multiplies the wrong ones: that is `as_printed`.
    """
    stream = torch.cuda.current_stream().cuda_stream
    batch, heads, head = 4, 32, 128
    for tokens in lab.tokens:
        elements = batch * heads * tokens * head
        scores = 2 * batch * heads * tokens**2  # bytes
        torch.manual_seed(1)
        shape = (batch, heads, tokens, head)
        inputs = [
            (2 * torch.rand(shape, device="cuda") - 1).bfloat16() for _ in range(3)
        ]
        kinds = [("as_printed", False), ("listing", False)]
        kinds += [(name, causal) for name in BACKENDS for causal in (False, True)]
        for kind, causal in kinds:
            parameters = {
                "kind": kind,
                "tokens": tokens,
                "causal": "yes" if causal else "no",
            }
            # With room for the FP32 scores of a head, and for masks of it.
            needed = 20 * elements + 12 * tokens**2
            needed += 3 * scores if kind == "listing" else 0
            if not lab.fits("attention", parameters, needed):
                continue
            q, k, v = inputs
            if kind == "as_printed":
                q, k, v = (x.transpose(1, 2).contiguous() for x in inputs)

            def attend(_: int) -> torch.Tensor:
                if kind not in BACKENDS:
                    return listing(q, k, v)
                with sdpa_kernel(BACKENDS[kind]):
                    return scaled_dot_product_attention(q, k, v, is_causal=causal)

            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            output = attend(0)
            peak = torch.cuda.max_memory_allocated() - before
            if kind == "as_printed":
                output = output.transpose(1, 2)
            right = is_attention(inputs, output, causal)
            lab.check(f"{kind}, {tokens} tokens", right == (kind != "as_printed"))
            del output
            samples = lab.time_on_gpu(stream, attend)
            pairs = tokens * (tokens + 1) // 2 if causal else tokens**2
            computes = 4 * batch * heads * pairs * head
            lab.record(
                "attention",
                {**parameters, "allocated_bytes": peak},
                samples,
                # The wrong matrices take other work, whose rate nothing asks for.
                computes=0 if kind == "as_printed" else computes,
                checked=elements,
            )
            del q, k, v


def is_attention(inputs: list[torch.Tensor], output: torch.Tensor, causal: bool) -> bool:
    """Compares every element with the definition in FP32, a head at a time. An element is
    a mean of as many numbers as its row sees keys.
    """
    tokens, head = output.shape[-2:]
    keys = torch.full((tokens, 1), float(tokens), device="cuda")
    if causal:
        keys = torch.arange(1.0, tokens + 1, device="cuda")[:, None]
    heads = [x.reshape(-1, tokens, head) for x in [*inputs, output]]
    for q, k, v, got in zip(*heads, strict=True):
        scores = q.float() @ k.float().T / head**0.5
        if causal:
            hidden = torch.ones_like(scores, dtype=torch.bool).triu_(1)
            scores.masked_fill_(hidden, float("-inf"))
        expected = scores.softmax(-1) @ v.float()
        wrong = (got.float() - expected).abs() > 0.03 / keys.sqrt()
        if wrong.any() or not got.isfinite().all():
            return False
    return True


def clear_pool(shape: tuple[int, ...], count: int) -> None:
    """Clears the memory that the next `count` tensors of this shape will get. A pool hands
    out what it got back with its old contents, which are those that a check expects.
    """
    torch.cuda.empty_cache()
    cleared = [
        torch.zeros(shape, dtype=torch.int32, device="cuda") for _ in range(count)
    ]
    del cleared


# 2,654,435,761 as a signed number of 32 bits.
ODD = -1640531535


def values(first: int, count: int) -> torch.Tensor:
    """Element i is (first + i) times an odd constant: all different, so that one out of
    place shows.
    """
    return torch.arange(first, first + count, dtype=torch.int32) * ODD

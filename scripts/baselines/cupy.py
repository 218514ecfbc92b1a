"""CuPy doing the chapter's Python examples, correctly."""

from __future__ import annotations

import time

import cupy as cp
import cupyx
import numpy

from baselines.lab import KINDS, CannotRun, Lab


def experiment(lab: Lab) -> None:
    """All cases, on a stream that is not the default one."""
    if not cp.cuda.is_available():
        raise CannotRun("CuPy finds no GPU")
    cp.cuda.Device(lab.device).use()
    gpu = cp.cuda.runtime.getDeviceProperties(lab.device)["name"].decode()
    lab.begin(f"CuPy {cp.__version__}", gpu, cp.cuda.runtime.memGetInfo()[0])
    with cp.cuda.Stream(non_blocking=True) as stream:
        copies(lab, stream)
        queued_copies(lab, stream)
        new_copies(lab, stream)
        transposes(lab, stream)
        allocations(lab)
        first_calls(lab, stream)
        overlap(lab, stream)


def copies(lab: Lab, stream: cp.cuda.Stream) -> None:
    """Between buffers that are there already, by the host's clock: the cases `copy` of
    `host-memory`. As there, each turn takes the next piece of the host's buffer.
    """
    ramp = values(0, lab.words)
    device = cp.zeros(lab.words, cp.uint32)
    for kind in KINDS:
        # ANCHOR: kinds
        empty = cupyx.empty_pinned if kind == "pinned" else numpy.empty
        host = empty(lab.words, numpy.uint32)
        # ANCHOR_END: kinds
        for size in lab.sizes:
            words = size // 4
            pieces, buffer = host.reshape(-1, words), device[:words]

            # ANCHOR: copy
            def to_gpu(turn: int) -> None:
                buffer.set(pieces[turn % len(pieces)], stream=stream)
                stream.synchronize()

            def to_host(turn: int) -> None:
                piece = pieces[turn % len(pieces)]
                buffer.get(out=piece, stream=stream, blocking=False)
                stream.synchronize()

            # ANCHOR_END: copy

            host[:] = ramp
            buffer.fill(0)
            samples = lab.time_on_host(to_gpu)
            expected = ramp.reshape(-1, words)[samples.last_turn % len(pieces)]
            lab.check(f"{kind} to the GPU", numpy.array_equal(buffer.get(), expected))
            lab.record_copy("copy", "host_to_device", size, samples, kind=kind)

            buffer.set(ramp[:words])
            host.fill(0)
            samples = lab.time_on_host(to_host)
            got = pieces[samples.last_turn % len(pieces)]
            lab.check(f"{kind} to the host", numpy.array_equal(got, ramp[:words]))
            lab.record_copy("copy", "device_to_host", size, samples, kind=kind)


def queued_copies(lab: Lab, stream: cp.cuda.Stream) -> None:
    """Pinned copies, queued back to back and timed on the GPU: the cases `copy` of
    `transfer-bandwidth`.
    """
    ramp = values(0, lab.words)
    host = cupyx.empty_pinned(lab.words, numpy.uint32)
    host[:] = ramp
    device = cp.zeros(lab.words, cp.uint32)
    for size in lab.sizes:
        words = size // 4
        source, received = host[:words], device[:words]
        received.fill(0)
        # ANCHOR: queued
        samples = lab.time_on_gpu(
            stream.ptr, lambda _: received.set(source, stream=stream)
        )
        # ANCHOR_END: queued
        right = numpy.array_equal(received.get(), ramp[:words])
        lab.check("queued to the GPU", right)
        lab.record_copy("queued_copy", "host_to_device", size, samples)

        source.fill(0)
        samples = lab.time_on_gpu(
            stream.ptr,
            lambda _: received.get(out=source, stream=stream, blocking=False),
        )
        lab.check("queued to the host", numpy.array_equal(source, ramp[:words]))
        lab.record_copy("queued_copy", "device_to_host", size, samples)


def new_copies(lab: Lab, stream: cp.cuda.Stream) -> None:
    """What the chapter's listing does: `asarray` and `asnumpy`, which return a new array
    each time, from and to pageable memory.
    """
    host = values(0, lab.words)
    device = cp.asarray(host)

    # ANCHOR: new
    def asarray(_: int) -> cp.ndarray:
        array = cp.asarray(host)
        stream.synchronize()  # `asarray` returns before the copy is done
        return array

    def asnumpy(_: int) -> numpy.ndarray:
        return cp.asnumpy(device)

    # ANCHOR_END: new

    samples = lab.time_on_host(asarray)
    clear_pool(host.shape, 1)
    lab.check("`asarray`", numpy.array_equal(asarray(0).get(), host))
    lab.record_copy("new_copy", "host_to_device", lab.sizes[-1], samples)
    # The same without waiting, as the chapter's listing stops its clock.
    samples = lab.time_on_host(lambda _: cp.asarray(host), before=stream.synchronize)
    clear_pool(host.shape, 1)
    lab.check("`asarray`", numpy.array_equal(cp.asarray(host).get(), host))
    lab.record("asarray_returns", {"bytes": lab.sizes[-1]}, samples, checked=lab.words)
    samples = lab.time_on_host(asnumpy)
    lab.check("`asnumpy`", numpy.array_equal(samples.last_result, host))
    lab.record_copy("new_copy", "device_to_host", lab.sizes[-1], samples)
    cp.get_default_pinned_memory_pool().free_all_blocks()  # asarray's staging buffers


def transposes(lab: Lab, stream: cp.cuda.Stream) -> None:
    """The cases of `transpose`, with as many pairs of matrices in turn as it takes."""
    for side in lab.sides:
        pairs = lab.pairs(side)
        if not pairs:
            continue
        matrix = values(0, side * side).reshape(side, side)
        inputs = [cp.asarray(matrix) for _ in range(pairs)]
        outputs: dict[int, cp.ndarray] = {}

        # ANCHOR: transpose
        def transpose(turn: int) -> None:
            outputs[turn % pairs] = cp.ascontiguousarray(inputs[turn % pairs].T)

        # ANCHOR_END: transpose

        samples = lab.time_on_gpu(stream.ptr, transpose)
        row = cp.arange(side, dtype=cp.uint32)
        expected = (row * side + row[:, None]) * ODD
        outputs.clear()
        clear_pool((side, side), pairs)
        for turn in range(pairs):
            transpose(turn)
        for output in outputs.values():
            lab.check(f"transpose {side}", bool((output == expected).all()))
        lab.record_transpose(side, pairs, samples)


def allocations(lab: Lab) -> None:
    """Allocate and give back: an array from CuPy's pool, the pool's memory alone, and an
    array without the pool. The cases `pair` of `allocation`.
    """
    pool = cp.get_default_memory_pool()
    for size in lab.allocations:

        # ANCHOR: allocate
        def allocate(_: int) -> None:
            array = cp.empty(size, cp.uint8)
            del array  # back to the pool, not to the driver

        def allocate_memory(_: int) -> None:
            memory = pool.malloc(size)
            del memory

        # ANCHOR_END: allocate

        for kind, work in (("pooled", allocate), ("pool_alone", allocate_memory)):
            samples = lab.time_on_host(work, repeat=True)
            lab.record("allocate_and_release", {"kind": kind, "bytes": size}, samples)
        pool.free_all_blocks()
        with cp.cuda.using_allocator(None):
            samples = lab.time_on_host(allocate, repeat=True)
        lab.record("allocate_and_release", {"kind": "unpooled", "bytes": size}, samples)


def first_calls(lab: Lab, stream: cp.cuda.Stream) -> None:
    """An operation that CuPy has never seen, and compiles when it is called; and again."""
    array = cp.ones(1024)
    # No earlier run has left one of this name in the cache on the disk.
    name = f"first_call_{time.time_ns()}"
    operations = []

    def first(turn: int) -> cp.ndarray:
        code = f"y = x * {turn + 2}"
        operations.append(cp.ElementwiseKernel("T x", "T y", code, f"{name}_{turn}"))
        return again(turn)

    def again(_: int) -> cp.ndarray:
        result = operations[-1](array)
        stream.synchronize()
        return result

    for when, work in (("first", first), ("again", again)):
        samples = lab.time_on_host(work)
        expected = len(operations) + 1
        lab.check(f"{when} call", bool((samples.last_result == expected).all()))
        lab.record("call", {"when": when}, samples, checked=array.size)


def overlap(lab: Lab, stream: cp.cuda.Stream) -> None:
    """A copy to the GPU and a product there that does not need it: on one stream and on
    two, from pageable and from pinned memory.
    """
    side = 2048 if lab.quick else 8192
    # Whole numbers from 0 to 7, so that the product is exact.
    left = cp.asarray(values(0, side * side) >> 8 & 7, cp.float32)
    right = cp.asarray(values(1, side * side) >> 8 & 7, cp.float32)
    left, right = left.reshape(side, side), right.reshape(side, side)
    expected = (left.astype(cp.float64) @ right.astype(cp.float64)).astype(cp.float32)
    product = cp.zeros_like(left)
    ramp = values(0, lab.words)
    incoming = cp.zeros(lab.words, cp.uint32)

    def multiply(_: int) -> None:
        cp.matmul(left, right, out=product)
        stream.synchronize()

    stream.synchronize()
    samples = lab.time_on_host(multiply)
    lab.check("product", bool((product == expected).all()))
    lab.record("product", {"side": side}, samples, checked=side * side)

    for kind in KINDS:
        source = ramp
        if kind == "pinned":
            source = cupyx.empty_like_pinned(ramp)
            source[:] = ramp
        for streams in (1, 2):
            # ANCHOR: streams
            copying = cp.cuda.Stream(non_blocking=True)
            computing = cp.cuda.Stream(non_blocking=True) if streams == 2 else copying

            def copy_and_multiply(_: int) -> None:
                incoming.set(source, stream=copying)
                with computing:
                    cp.matmul(left, right, out=product)
                copying.synchronize()
                computing.synchronize()

            # ANCHOR_END: streams

            incoming.fill(0)
            product.fill(0)
            stream.synchronize()
            samples = lab.time_on_host(copy_and_multiply)
            lab.check("product beside a copy", bool((product == expected).all()))
            lab.check("copy beside a product", numpy.array_equal(incoming.get(), ramp))
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


def clear_pool(shape: tuple[int, ...], count: int) -> None:
    """Clears the memory that the next `count` arrays of this shape will get. A pool hands
    out what it got back with its old contents, which are those that a check expects.
    """
    cp.get_default_memory_pool().free_all_blocks()
    cleared = [cp.zeros(shape, cp.uint32) for _ in range(count)]
    del cleared


ODD = numpy.uint32(2_654_435_761)


def values(first: int, count: int) -> numpy.ndarray:
    """Element i is (first + i) times an odd constant: all different, so that one out of
    place shows.
    """
    return numpy.arange(first, first + count, dtype=numpy.uint32) * ODD

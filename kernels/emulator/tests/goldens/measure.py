"""Runs the launches of launches.txt through the CUDA driver, to be counted by ncu.

    ncu --csv --page raw --clock-control none --metrics (those named in goldens.py) \\
        python3 measure.py FOLDER-WITH-PTX > raw.csv

The folder has the workbook's kernels/ptx, and patterns.ptx, atomic-accesses.ptx and matrices.ptx.
Only launches that counters.txt does not have yet are run: new ones, at the end of
launches.txt. ideals.txt is made in the same way, with the metrics
memory_l1_wavefronts_shared_ideal and memory_l2_theoretical_sectors_global_ideal. Needs NumPy.
"""

import ctypes
import os
import pathlib
import sys

import numpy

folder = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        sys.exit(f"{name}: error {status}")


def made(kind, name, *arguments):
    """What a function answers through its first argument."""
    result = kind()
    call(name, ctypes.byref(result), *arguments)
    return result


def buffer(kind, size, options):
    i = numpy.arange(-(-size // 4), dtype=numpy.uint64)
    number = int(options[0]) if options else 0
    words = {
        "words": lambda: i * 2654435761,
        "zeros": lambda: i * 0,
        "all": lambda: i * 0 + number,
        "stride": lambda: i * number,
        "shr": lambda: i >> number,
        "and": lambda: i & number,
        "indices": lambda: (i * 2654435761 % 2**32 >> 7) % number,
    }[kind]()
    data = words.astype(numpy.uint32)
    address = made(ctypes.c_uint64, "cuMemAlloc_v2", ctypes.c_size_t(data.nbytes))
    call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(ctypes.c_void_p),
         ctypes.c_size_t(data.nbytes))
    return address


def argument(text):
    kind, value, *options = text.split(":")
    if kind == "u32":
        return ctypes.c_uint32(int(value))
    if kind == "u64":
        return ctypes.c_uint64(int(value))
    if kind == "f32":
        return ctypes.c_float(float(value))
    if kind == "eight":
        address = buffer(value, int(options[0]), options[1:]).value
        return (ctypes.c_uint64 * 8)(*[address] * 8)
    return buffer(kind, int(value), options)


def lines(name):
    text = (here / name).read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


call("cuInit", 0)
device = made(ctypes.c_int, "cuDeviceGet", 0)
context = made(ctypes.c_void_p, "cuDevicePrimaryCtxRetain", device)
call("cuCtxSetCurrent", context)
modules = {}
for line in lines("launches.txt")[len(lines("counters.txt")):]:
    ptx, kernel, grid, block, *arguments = line.split()
    if ptx not in modules:
        path = os.fsencode(folder / f"{ptx}.ptx")
        modules[ptx] = made(ctypes.c_void_p, "cuModuleLoad", path)
    function = made(ctypes.c_void_p, "cuModuleGetFunction", modules[ptx], kernel.encode())
    shape = [ctypes.c_uint(int(number)) for number in [*grid.split(","), *block.split(",")]]
    arguments = [argument(text) for text in arguments]
    pointers = [ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments]
    call("cuLaunchKernel", function, *shape, 0, None,
         (ctypes.c_void_p * len(pointers))(*pointers), None)
    call("cuCtxSynchronize")

"""Runs the launches of launches.txt on a GPU, to be counted by ncu. Needs CuPy.

    ncu --csv --page raw --clock-control none --metrics (those named in goldens.py) \\
        python3 measure.py FOLDER-WITH-PTX > raw.csv

The folder has the workbook's kernels/ptx and patterns.ptx. Only launches that counters.txt
does not have yet are run: new ones, at the end of launches.txt. ideals.txt is made in the
same way, with the metrics memory_l1_wavefronts_shared_ideal and
memory_l2_theoretical_sectors_global_ideal.
"""

import pathlib
import sys

import cupy
import numpy

folder = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent


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
    data = words.astype(numpy.uint32).view(numpy.uint8)[:size]
    return cupy.asarray(data)


def argument(text):
    kind, value, *options = text.split(":")
    if kind == "u32":
        return numpy.uint32(int(value))
    if kind == "u64":
        return numpy.uint64(int(value))
    if kind == "f32":
        return numpy.float32(float(value))
    return buffer(kind, int(value), options)


def lines(name):
    text = (here / name).read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


modules = {}
for line in lines("launches.txt")[len(lines("counters.txt")):]:
    ptx, kernel, grid, block, *arguments = line.split()
    if ptx not in modules:
        modules[ptx] = cupy.RawModule(path=str(folder / f"{ptx}.ptx"))
    shape = lambda text: tuple(map(int, text.split(",")))
    arguments = tuple(map(argument, arguments))
    modules[ptx].get_function(kernel)(shape(grid), shape(block), arguments)
    cupy.cuda.runtime.deviceSynchronize()

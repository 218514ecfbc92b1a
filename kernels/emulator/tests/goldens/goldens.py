"""Appends to counters.txt what ncu printed: python3 goldens.py raw.csv.

It has a line for each of launches.txt, in its order: the kernel; requests and sectors of
loads from and stores to global memory; requests and wavefronts of loads from and stores to
shared memory. A load and a store have two numbers each. atomic-accesses.txt has, for each of those
launches that are of atomic-accesses.ptx, requests and sectors of atomic operations on and of
reductions in global memory, and requests and wavefronts of atomic operations on shared
memory.
"""

import csv
import pathlib
import sys

METRICS = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
]
ATOMICS = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
]

here = pathlib.Path(__file__).parent


def lines(name):
    text = (here / name).read_text()
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


launches = lines("launches.txt")[len(lines("counters.txt")):]
with open(sys.argv[1]) as file:
    table = [line for line in file if not line.startswith("==")]
rows = [row for row in csv.DictReader(table) if row["ID"]]
assert len(rows) == len(launches), (len(rows), len(launches))


def write(name, metrics, is_wanted):
    with open(here / name, "a") as out:
        for launch, row in zip(launches, rows):
            assert launch[1] == row["Kernel Name"], (launch, row["Kernel Name"])
            if is_wanted(launch):
                counters = [str(int(float(row[m].replace(",", "")))) for m in metrics]
                out.write(" ".join([row["Kernel Name"], *counters]) + "\n")


write("counters.txt", METRICS, lambda launch: True)
write("atomic-accesses.txt", ATOMICS, lambda launch: launch[0] == "atomic-accesses")

"""Runs random programs through the CUDA driver, and writes a hash of what each stores:

    cargo run -p emulator --example random-programs -- FOLDER      # here
    python3 programs.py FOLDER                                     # on a GPU from compute capability 9.0 on

FOLDER/programs.txt, which comes beside this file, has a line for each program: its number, and
the first 16 digits of the SHA-256 of what the test compares. FOLDER/outputs has all bytes,
program after program. A second argument names another driver's library, a third one the level
of the driver's optimiser (0 to 4).
"""

import concurrent.futures
import ctypes
import hashlib
import pathlib
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])
cuda = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libcuda.so.1")
THREADS = 64
SCRATCH = 8 * THREADS


class Failed(Exception):
    """What the driver refused."""


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        raise Failed(f"{name}: error {status}")


def made(kind, name, *arguments):
    """What a function answers through its first argument."""
    result = kind()
    call(name, ctypes.byref(result), *arguments)
    return result


def loaded(name):
    """A module. What is wrong with it is in the log that the driver writes."""
    call("cuCtxSetCurrent", context)
    log = ctypes.create_string_buffer(8192)
    module = ctypes.c_void_p()
    # CU_JIT_ERROR_LOG_BUFFER and its size, CU_JIT_OPTIMIZATION_LEVEL
    options = (ctypes.c_int * 3)(5, 6, 7)
    level = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    values = (ctypes.c_void_p * 3)(ctypes.addressof(log), len(log), level)
    text = ctypes.c_char_p((folder / name).read_bytes())
    status = cuda.cuModuleLoadDataEx(ctypes.byref(module), text, 3, options, values)
    if status != 0:
        print(f"{name}: error {status}: {log.value.decode()}", flush=True)
        return None
    return module


start = time.monotonic()
call("cuInit", 0)
device = made(ctypes.c_int, "cuDeviceGet", 0)
context = made(ctypes.c_void_p, "cuDevicePrimaryCtxRetain", device)
call("cuCtxSetCurrent", context)
text = ctypes.create_string_buffer(256)
call("cuDeviceGetName", text, 256, device)
stamp = text.value.decode()
try:
    query = ["nvidia-smi", "-i", "0", "--query-gpu=driver_version", "--format=csv,noheader"]
    stamp += ", driver " + subprocess.run(query, capture_output=True, text=True).stdout.strip()
except OSError:
    stamp += ", no driver of NVIDIA's"

launches = [line.split() for line in (folder / "launches").read_text().splitlines()]
names = list(dict.fromkeys(launch[0] for launch in launches))
with concurrent.futures.ThreadPoolExecutor() as pool:
    modules = dict(zip(names, pool.map(loaded, names)))
print(f"{len(names)} files loaded after {time.monotonic() - start:.1f} s", flush=True)

data = (folder / "inputs").read_bytes()
inputs = made(ctypes.c_uint64, "cuMemAlloc_v2", ctypes.c_size_t(len(data)))
call("cuMemcpyHtoD_v2", inputs, data, ctypes.c_size_t(len(data)))
most = max(int(launch[2]) for launch in launches) + SCRATCH
output = made(ctypes.c_uint64, "cuMemAlloc_v2", ctypes.c_size_t(most))
failed = 0
with open(folder / "programs.txt", "w") as hashes, open(folder / "outputs", "wb") as outputs:
    hashes.write(f"# {stamp}\n")
    for name, kernel, size, compared in launches:
        stored = ctypes.create_string_buffer(int(size))
        try:
            if modules[name] is None:
                raise Failed("its file was not loaded")
            function = made(ctypes.c_void_p, "cuModuleGetFunction", modules[name], kernel.encode())
            call("cuMemsetD8_v2", output, ctypes.c_ubyte(0), ctypes.c_size_t(most))
            addresses = (ctypes.c_void_p * 2)(ctypes.addressof(inputs), ctypes.addressof(output))
            call("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, addresses, None)
            call("cuCtxSynchronize")
            call("cuMemcpyDtoH_v2", stored, output, ctypes.c_size_t(int(size)))
            digits = hashlib.sha256(stored.raw[:int(compared)]).hexdigest()[:16]
            hashes.write(f"{kernel.removeprefix('program_')} {digits}\n")
        except Failed as error:
            failed += 1
            print(f"{kernel}: {error}", flush=True)
        outputs.write(stored.raw)
seconds = time.monotonic() - start
print(f"{len(launches) - failed} programs of {len(launches)} on {stamp}, {seconds:.1f} s")

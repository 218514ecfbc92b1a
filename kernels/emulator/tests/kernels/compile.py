"""Compiles the CUDA C beside this file to the PTX that is committed with it.

    python3 compile.py path/to/libnvrtc.so.12

Made with NVRTC 12.4 (pip install nvidia-cuda-nvrtc-cu12==12.4.127). The PTX holds line
information, so that the emulator's errors name lines of CUDA C; and it starts with the hash
of its source, so that a test notices a source that was changed and not compiled.
"""

import ctypes
import hashlib
import pathlib
import re
import sys

nvrtc = ctypes.CDLL(sys.argv[1])


def check(status, program=None):
    if status == 0:
        return
    if program:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        print(log.value.decode())
    sys.exit(f"NVRTC error {status}")


def compile(path):
    source = path.read_text(encoding="utf-8")
    asked = re.match(r"// compute: (\d+)\.(\d+)", source)
    compute = "".join(asked.groups()) if asked else "75"
    program = ctypes.c_void_p()
    name = path.name.encode()
    check(nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), name, 0, None, None))
    options = [f"--gpu-architecture=compute_{compute}".encode(), b"-lineinfo"]
    array = (ctypes.c_char_p * len(options))(*options)
    check(nvrtc.nvrtcCompileProgram(program, len(options), array), program)
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    stamp = f"// source-sha256: {hashlib.sha256(source.encode()).hexdigest()}\n"
    # NVRTC puts the folder that it runs in before the name.
    text = re.sub(r'(\.file\s+1 ").*/', r"\1", ptx.value.decode())
    path.with_suffix(".ptx").write_text(stamp + text)


for path in sorted(pathlib.Path(__file__).parent.glob("*.cu")):
    compile(path)
    print(path.with_suffix(".ptx").name)

#!/usr/bin/env bash
# Makes the PTX of compilers other than NVRTC that is committed beside this file:
#     compilers.sh CLANG RUSTC CORE
# CLANG makes PTX of CUDA C (`python3 -m ziglang clang`, of 0.17.1). RUSTC is rustc 1.96.0, and
# CORE a folder with core for nvptx64-nvidia-cuda, as `cargo build -Zbuild-std=core` makes it: its
# metadata in lib/rustlib/nvptx64-nvidia-cuda/lib, and its bitcode, core.bc. llvm-link, opt and llc
# are LLVM 22's; rustup's llvm-bitcode-linker does the same.
set -euo pipefail
cd "$(dirname "$0")"
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT

for level in 0 1 3; do
    $1 -x cuda --cuda-device-only -nocudainc -nocudalib -nostdinc --cuda-gpu-arch=sm_75 \
        -Xclang -target-feature -Xclang +ptx84 -O$level -fdeclspec -std=c++17 -S -w \
        -include ../../../translator/prelude.h compilers.cu -o compilers-clang-$level.ptx
done

export RUSTC_BOOTSTRAP=1
for level in 1 3; do
    $2 --edition 2024 --crate-type lib --crate-name kernels --target nvptx64-nvidia-cuda \
        --sysroot "$3" -Zcrate-attr=no_std -Zcrate-attr='feature(abi_ptx, stdarch_nvptx)' \
        -C target-cpu=sm_75 -C panic=abort -C opt-level=$level -C codegen-units=1 \
        -C debug-assertions=off -A warnings --emit=llvm-bc="$made/kernels.bc" rustc.rs
    llvm-link --internalize --only-needed "$made/kernels.bc" "$3/core.bc" -o "$made/linked.bc"
    opt -passes=internalize,globaldce \
        --internalize-public-api-list=iterators,enumerations,numbers,slices \
        "$made/linked.bc" -o "$made/kept.bc"
    llc -O$level -mcpu=sm_75 -mattr=+ptx84 "$made/kept.bc" -o rustc-$level.ptx
done

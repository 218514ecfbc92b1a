// What clang is told of the language and of optimising, at the terminal and in a page: one array.
// All functions have to be inlined: in a page there are no calls. A loop is unrolled whole, where its
// turns are known, or not at all: so an array of a thread is in registers, as with NVRTC, and in no
// part of a loop have lanes that leave it earlier accesses of their own. Loads of vectors stay
// loads of vectors. A loop without an end stays one: C++ lets a compiler take it for finite, and so
// leave it out.
[
    "-std=c++17",
    "-fdeclspec",
    "-ffp-contract=fast",
    "-O2",
    "-fno-finite-loops",
    "-funroll-loops",
    "-mllvm",
    "-unroll-runtime=0",
    "-mllvm",
    "-unroll-allow-partial=0",
    "-mllvm",
    "-unroll-threshold=1000",
    "-mllvm",
    "-inline-threshold=100000",
    "-mllvm",
    "-disable-vector-combine",
]

// CUDA C becomes PTX in the page: clang, in a worker, makes LLVM IR (scripts/page-compiler), and the
// module `workshop` (book/workshop) turns that into PTX, and clang's words into messages.
"use strict";

(() => {
    const { moduleAt, compilerAt } = window.workbook.workers;
    const PRELUDE = "prelude.h";
    // Seconds for a reader's source; so many times what a kernel of ours took, where that is more, on
    // a slow machine or a busy one. Ours comes first, for a browser compiles the compiler's own code
    // while that runs for the first time.
    const PATIENCE = 10;
    const TIMES = 4;
    const MOST_PATIENCE = 60;
    const FIRST = `extern "C" __global__ void first(const float *in, float *out, int n) {
        __shared__ float tile[256];
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            tile[threadIdx.x] = in[i];
            __syncthreads();
            out[i] = sqrtf(tile[255 - threadIdx.x]) / 3;
        }
    }`;
    const ENDLESS = " Does a macro or a template expand without end? If not, make the source smaller.";

    // Something that was found in a source, as `messages`.
    class Found extends Error {
        constructor(messages, said = "It does not compile.") {
            super(said);
            this.messages = messages;
        }
    }

    // What compiles and runs kernels: the module and the compiler of these addresses.
    function benchOf({ workshop: module, compiler: folder, version }) {
        const absolute = address => new URL(address, document.baseURI).href;
        const workshop = moduleAt(absolute(module), "workbookWorkshop");
        const compiler = compilerAt(absolute(folder ?? ""), version);

        // How a source is to be compiled, which may be of an exercise with this `check.toml`.
        async function settings({ file, source, check }) {
            const told = await workshop.ask({ options: { file, source, check } });
            if (told.error !== undefined) {
                throw new Error(told.error);
            }
            return told;
        }

        async function diagnosed(log, file, compute) {
            const said = await workshop.ask({ diagnose: { log, file, compute } });
            if (said.error !== undefined) {
                throw new Error(said.error);
            }
            const advice = said.advice.map(text => ({ kind: "note", text }));
            return [...said.messages, ...advice];
        }

        let isWarm = false;
        let patience = PATIENCE;

        // What clang makes of a source, within so many seconds, and its log.
        async function made(file, source, { options, prelude, compute }, seconds) {
            const target = ["-target-cpu", `sm_${compute.replace(".", "")}`, "-target-feature", "+ptx84"];
            const request = {
                options: [
                    "-cc1", "-triple", "nvptx64-nvidia-cuda", "-x", "cuda", ...options, ...target,
                    "-include", PRELUDE, file,
                ],
                files: { [file]: source, [PRELUDE]: prelude },
            };
            const told = await compiler.ask(request, seconds, "the compiler did not end", ENDLESS);
            isWarm = told.error === undefined;
            if (!isWarm) {
                throw new Error(told.error);
            }
            return told;
        }

        // The PTX of a source by these settings, and what the compiler warns of. Throws what is wrong.
        async function compiled(file, source, about) {
            if (!isWarm) {
                const begun = performance.now();
                await made("first.cu", FIRST, about, MOST_PATIENCE);
                const seconds = Math.ceil(TIMES * (performance.now() - begun) / 1000);
                patience = Math.min(Math.max(PATIENCE, seconds), MOST_PATIENCE);
            }
            const { made: ir, log } = await made(file, source, about, patience);
            const { compute } = about;
            const messages = log === "" ? [] : await diagnosed(log, file, compute);
            if (ir === undefined) {
                throw new Found(messages);
            }
            // A source without a kernel is PTX without one; which kernel lacks is said when it is run.
            if (!/^define /mu.test(ir)) {
                const head = [".version 7.5", ".target sm_75", ".address_size 64", ""];
                return { ptx: head.join("\n"), messages };
            }
            const translated = await workshop.ask({ translate: { ir } });
            if (translated.error !== undefined) {
                throw new Found([{ kind: "error", line: translated.line, text: translated.error }]);
            }
            return { ptx: translated.ptx, messages };
        }

        return { workshop, compiler, settings, compiled };
    }

    window.workbook.benches = { benchOf, Found };
})();

// CUDA C becomes PTX in the page: clang, in a worker, makes LLVM IR (scripts/page-compiler), and the
// module `workshop` (book/workshop) turns that into PTX, and clang's words into messages.
"use strict";

(() => {
    const { moduleAt, compilerAt } = window.workbook.workers;
    const PRELUDE = "prelude.h";
    // Seconds; a browser compiles the compiler's own code while that runs for the first time.
    const PATIENCE = 10;
    const COLD_PATIENCE = 60;

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

        // The PTX of a source by these settings, and what the compiler warns of. Throws what is wrong.
        async function compiled(file, source, { options, prelude, compute }) {
            const target = ["-target-cpu", `sm_${compute.replace(".", "")}`, "-target-feature", "+ptx84"];
            const request = {
                options: [
                    "-cc1", "-triple", "nvptx64-nvidia-cuda", "-x", "cuda", ...options, ...target,
                    "-include", PRELUDE, file,
                ],
                files: { [file]: source, [PRELUDE]: prelude },
            };
            const seconds = isWarm ? PATIENCE : COLD_PATIENCE;
            const told = await compiler.ask(request, seconds, "the compiler did not end");
            const { made, log, error } = told;
            isWarm = error === undefined;
            if (error !== undefined) {
                throw new Error(error);
            }
            const messages = log === "" ? [] : await diagnosed(log, file, compute);
            if (made === undefined) {
                throw new Found(messages);
            }
            // A source without a kernel is PTX without one; which kernel lacks is said when it is run.
            if (!/^define /mu.test(made)) {
                const head = [".version 7.5", `.target ${target[1]}`, ".address_size 64", ""];
                return { ptx: head.join("\n"), messages };
            }
            const translated = await workshop.ask({ translate: { ir: made } });
            if (translated.error !== undefined) {
                throw new Found([{ kind: "error", line: translated.line, text: translated.error }]);
            }
            return { ptx: translated.ptx, messages };
        }

        return { workshop, compiler, settings, compiled };
    }

    window.workbook.benches = { benchOf, Found };
})();

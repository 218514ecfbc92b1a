// What runs beside the page, in workers: modules of ours, WebAssembly that lies packed in a script
// (book/engine, book/workshop), and the compiler, clang (scripts/page-compiler). Each answers one
// request after the other, within a time, and is started anew where it had to be stopped.
"use strict";

(() => {
    // A worker of this `code`, a function; `first` gives the message that it begins with, when it is
    // first asked something. It answers that one with `ready`, and may tell its progress until then.
    function workerOf({ code, type = "classic", name, first }) {
        let begun = null;
        let number = 0;
        const waiting = new Map();

        function begin(told) {
            const made = { worker: null };
            made.ready = new Promise((done, failed) => {
                made.failed = failed;
                first().then(message => {
                    if (begun !== made) {
                        return;
                    }
                    const text = new Blob([`(${code})()`], { type: "text/javascript" });
                    made.worker = new Worker(URL.createObjectURL(text), { type });
                    made.worker.onerror = ({ message }) => stop(`${name} failed: ${message}.`);
                    made.worker.onmessage = ({ data }) => {
                        if (data.failed !== undefined) {
                            stop(data.failed);
                        } else if (data.ready !== undefined) {
                            done();
                        } else if (data.progress !== undefined) {
                            told(data.progress);
                        } else {
                            const asked = waiting.get(data.id);
                            waiting.delete(data.id);
                            clearTimeout(asked.timer);
                            asked.done(data.told);
                        }
                    };
                    made.worker.postMessage(message);
                }).catch(error => stop(`${name} did not start: ${error.message}.`));
            });
            made.ready.catch(() => {}); // who asks is told
            return made;
        }

        function start(told = () => {}) {
            begun ??= begin(told);
            return begun.ready;
        }

        function stop(why) {
            begun?.worker?.terminate();
            begun?.failed(new Error(why));
            begun = null;
            for (const { done, timer } of waiting.values()) {
                clearTimeout(timer);
                done({ error: why });
            }
            waiting.clear();
        }

        // The reply to a request, or the error of one that takes longer than this, with what to do.
        async function ask(request, seconds = 10, late = "the kernel did not end", advice = "") {
            try {
                await start();
            } catch (error) {
                return { error: error.message };
            }
            const worker = begun?.worker;
            if (worker === undefined) {
                return { error: "Stopped." };
            }
            const id = (number += 1);
            return new Promise(done => {
                const why = `Stopped: ${late} within ${seconds} s.${advice}`;
                const timer = setTimeout(() => stop(why), 1000 * seconds);
                waiting.set(id, { done, timer });
                worker.postMessage({ id, request });
            });
        }

        return { ask, start, stop: () => stop("Stopped.") };
    }

    // What a worker with a module of ours runs: it is its text that counts.
    function answerAll() {
        let exports;
        function answer({ memory, room, reply }, text) {
            const request = new TextEncoder().encode(text);
            const place = room(request.length) >>> 0; // may make another buffer of the memory
            new Uint8Array(memory.buffer, place).set(request);
            const at = reply() >>> 0;
            const [told, bytes] = new Uint32Array(memory.buffer, at, 2);
            return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, told, bytes)));
        }
        self.onmessage = async ({ data }) => {
            try {
                if (data instanceof ArrayBuffer) {
                    ({ exports } = (await WebAssembly.instantiate(data)).instance);
                    self.postMessage({ ready: true });
                } else {
                    const told = answer(exports, JSON.stringify(data.request));
                    self.postMessage({ id: data.id, told });
                }
            } catch (error) {
                self.postMessage({ failed: `The engine failed: ${error.message}.` });
            }
        };
    }

    // The module in the script at `address`, which sets `window[variable]`: so a book that is opened
    // as a file has it, too. It is fetched when it is first asked something.
    function moduleAt(address, variable) {
        let code = null;
        async function fetched() {
            await new Promise((loaded, failed) => {
                const script = document.createElement("script");
                script.onload = loaded;
                script.onerror = () => failed(new Error(`${address} cannot be loaded`));
                script.src = address;
                document.head.append(script);
            });
            const packed = Uint8Array.from(atob(window[variable]), c => c.charCodeAt(0));
            delete window[variable];
            const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
            return new Response(stream).arrayBuffer();
        }
        function load() {
            code ??= fetched();
            return code;
        }
        return workerOf({ code: answerAll, name: "The engine", first: load });
    }

    // What the compiler's worker runs. Its package asks for files, one of which is packed here, and
    // kept by the browser under this version; and one, header files, that no kernel can use.
    function compileAll() {
        const [large, headers] = ["llvm.core.wasm", "llvm-resources.tar"];
        const ask = self.fetch;
        let runLLVM, Exit;

        async function kept(address, version) {
            // Without storage, or in a page that is not secure, it is fetched each time.
            const cache = await self.caches?.open("workbook compiler").catch(() => undefined);
            const key = `${address}?${version}`;
            const found = await cache?.match(key);
            if (found !== undefined) {
                return found;
            }
            const answer = await ask(key);
            if (!answer.ok) {
                throw new Error(`${address}: ${answer.status}`);
            }
            if (cache !== undefined) {
                const others = await cache.keys();
                await Promise.all(others.map(other => cache.delete(other)));
                cache.put(key, answer.clone()).catch(() => {}); // there is no room
            }
            return answer;
        }

        async function load({ address, version }) {
            self.fetch = async file => {
                const name = new URL(file).pathname.split("/").pop();
                if (name === headers) {
                    return new Response(new Uint8Array(1024)); // an archive of nothing
                }
                if (name !== large) {
                    return ask(`${file}?${version}`);
                }
                let bytes = 0;
                const counted = new TransformStream({
                    transform(chunk, controller) {
                        bytes += chunk.length;
                        self.postMessage({ progress: bytes });
                        controller.enqueue(chunk);
                    },
                });
                const packed = (await kept(`${file}.gz`, version)).body.pipeThrough(counted);
                const wasm = packed.pipeThrough(new DecompressionStream("gzip"));
                return new Response(wasm, { headers: { "Content-Type": "application/wasm" } });
            };
            ({ runLLVM, Exit } = await import(`${address}bundle.js?${version}`));
            await runLLVM(null, {}, { fetchProgress() {} });
        }

        async function compile({ options, files }) {
            // What one of its streams tells, and no more than this. It has to be streams: clang writes
            // token by token, and its package copies a file that grows at each write.
            function listener(most) {
                const decoder = new TextDecoder();
                const heard = { text: "" };
                heard.write = bytes => {
                    if (bytes !== null && heard.text.length < most) {
                        heard.text += decoder.decode(bytes, { stream: true });
                    }
                };
                return heard;
            }
            // A compiler that never ends its complaint is not listened to for ever.
            const [made, log] = [listener(Infinity), listener(100_000)];
            try {
                const streams = { stdout: made.write, stderr: log.write };
                await runLLVM(["clang", ...options, "-o", "-"], files, streams);
                return { made: made.text, log: log.text };
            } catch (error) {
                if (error instanceof Exit) {
                    return { log: log.text };
                }
                // Its stack or its memory is full: each run has its own, and so the next one, too.
                const advice = "does a macro or a template expand without end?";
                return { error: `The compiler gave up (${error.message}); ${advice}` };
            }
        }

        let last = Promise.resolve();
        self.onmessage = ({ data }) => {
            last = last.then(async () => {
                if (data.id === undefined) {
                    await load(data);
                    self.postMessage({ ready: true });
                } else {
                    self.postMessage({ id: data.id, told: await compile(data.request) });
                }
            });
            last = last.catch(error => {
                self.postMessage({ failed: `The compiler did not start: ${error.message}.` });
            });
        };
    }

    // Clang of this version in the folder at `address`. A request has `options` and `files` by their
    // names; its reply what was `made`, if all is well, and the `log`.
    function compilerAt(address, version) {
        const first = async () => ({ address, version });
        return workerOf({ code: compileAll, type: "module", name: "The compiler", first });
    }

    // Whether this browser can run what is packed.
    const runs = typeof WebAssembly === "object" && typeof DecompressionStream === "function";

    window.workbook.workers = { runs, moduleAt, compilerAt };
})();

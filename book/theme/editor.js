// Kernels that are edited, compiled and checked in the page: exercises, and kernels to try. They are
// compiled by compile.js; the module `workshop` (book/workshop) runs them on the emulated GPU and
// judges them, by the rules and in the words of the terminal. All of it is loaded at the first
// check. Sources are text, wherever they come from, and never HTML.
"use strict";

(() => {
    const { recall, remember, forget, element, button, watchScrolling, exercises } = window.workbook;
    const { fieldsOf, inCode, inFields, sources, workers, benches } = window.workbook;
    const { sourceOf, packed, unpacked } = sources;
    const { benchOf, Found } = benches;
    const places = [...document.querySelectorAll("main .editor")];
    const isPrint = document.querySelector(".title-page") !== null;
    if (places.length === 0 || isPrint || !workers.runs) {
        return;
    }
    // mdBook listens to keys on the document, the arrow keys among them.
    places.forEach(place => place.addEventListener("keydown", event => event.stopPropagation()));

    const MEGABYTE = 1e6;
    const UNDO = "Undo the reset";
    const BACK = "Back to mine";
    const LOADED = "compiler";
    const DAMAGED =
        "The link that you opened is cut short or damaged: its source cannot be read. " +
        "Copy the whole link again.";

    const { dataset } = places[0];
    const { workshop, compiler, settings, compiled } = benchOf(dataset);
    const megabytes = Math.ceil(dataset.bytes / MEGABYTE);
    // Whether the browser has loaded it before: by its cache, the next time takes no network.
    let isHere = recall(LOADED) === dataset.version;

    // Why nothing can be compiled in this page, if nothing can be.
    const obstacle =
        document.location.protocol === "file:" ?
            "A page that was opened as a file cannot load a compiler: start `cargo workbook serve` " +
            "in your workbook, and open the address that it says."
        : dataset.compiler === undefined ?
            "This book was built without the compiler that its pages use: `scripts/page-compiler` " +
            "fetches it, and the next `cargo workbook serve` has it."
        : undefined;

    // Text with code in blocks, as hints have it.
    function inBlocks(text) {
        return text.split(/^```.*\n/mu).map((part, n) => {
            const made = element(n % 2 === 1 ? "pre" : "p");
            made.append(...(n % 2 === 1 ? [element("code", part)] : inCode(part.trim())));
            return made;
        }).filter(made => made.textContent !== "");
    }

    function tableOf(heads, rows) {
        const table = element("table");
        const head = table.createTHead().insertRow();
        heads.forEach(name => head.append(element("th", name, { scope: "col" })));
        const body = table.createTBody();
        for (const cells of rows) {
            const row = body.insertRow();
            cells.forEach(cell => row.insertCell().append(...[cell].flat()));
        }
        const wrapper = element("div", "", { class: "table" });
        wrapper.append(table);
        watchScrolling(wrapper);
        return wrapper;
    }

    function fold(summary, ...inside) {
        const made = element("details");
        made.append(element("summary", summary), ...inside);
        return made;
    }

    const listing = text => {
        const made = element("pre", "", { tabindex: "0" });
        made.append(element("code", text, { class: "nohighlight" }));
        return made;
    };

    // What the page shows of it is in the editor now.
    function hideListing(place, name) {
        const listed = [...document.querySelectorAll("main p.listing")];
        const file = `/exercises/${name}/start.cu`;
        const listing = listed.find(
            each => each.nextElementSibling === place || each.textContent.trim().endsWith(file),
        );
        for (const part of [listing, listing?.previousElementSibling]) {
            part?.setAttribute("hidden", "");
        }
    }

    // An editor in the place for it.
    function open(place) {
        const work = JSON.parse(place.dataset.work);
        const { name, file, source: start, exercise, launch, around } = work;
        const [before, behind] = around ?? ["", ""];
        const key = `exercise source ${name}`;
        const source = sourceOf(file, { changed, run: check, first: before.split("\n").length });
        const said = element("p", "", { class: "said", role: "status" });
        const outcome = element("div", "", { class: "outcome" });
        const fields = launch && fieldsOf(launch, `${key} launch`);
        // What another source took the place of, and what leads there. The reader's own is kept
        // while a link's is shown and edited.
        let back = ownAside();
        let isOfLink = false; // and as it was there
        let isJudged = false; // whether it is the source's verdict that is said
        let hinted = 0;
        let expected = null;

        const run = button(exercise ? "Check" : "Run", check);
        run.title = "Ctrl+Enter";
        run.className = "run";
        const halt = button("Stop", () => [workshop, compiler].forEach(worker => worker.stop()));
        halt.hidden = true;
        const reset = button("Reset", () => {
            const { text, launch } = back ?? { text: start };
            if (back?.label === BACK) {
                fields?.fill(launch ?? {});
                forget(`${key} mine`);
            }
            back = back === null ? { text: source.value, label: UNDO } : null;
            isOfLink = false;
            put(text);
        });
        const hint = exercise && button("", giveHint);
        const solve = exercise && button("Solution", showSolution);
        const help = element("div", "", { class: "help" });
        const controls = element("div", "", { class: "controls" });
        controls.append(
            run, halt, ...[hint, solve].filter(Boolean), reset, button("Copy link", copyLink),
        );

        function ownAside() {
            try {
                const { text, launch } = JSON.parse(recall(`${key} mine`));
                const isAside = typeof text === "string" && text !== (recall(key) ?? start);
                return isAside ? { text, launch, label: BACK } : null;
            } catch {
                return null;
            }
        }

        function say(...parts) {
            said.replaceChildren(...parts);
        }

        // What there is to say before a check.
        function greet() {
            isJudged = false;
            outcome.replaceChildren();
            say(...inCode(obstacle ?? (isHere ?
                "This browser has the compiler already. What you write stays here."
            :   `The first check loads a compiler of ${megabytes} MB into this browser, once. ` +
                "What you write stays here.")));
        }

        function put(text) {
            source.value = text;
            greet();
            keep();
        }

        let timer;
        function changed() {
            if (back?.label === UNDO) {
                back = null;
            }
            isOfLink = false;
            if (isJudged) {
                greet();
            }
            clearTimeout(timer);
            timer = setTimeout(keep, 300);
            refresh();
        }

        function keep() {
            clearTimeout(timer);
            if (!isOfLink) {
                remember(key, source.value);
            }
            refresh();
        }

        function refresh() {
            reset.textContent = back?.label ?? "Reset";
            reset.disabled = back === null && source.value === start;
            if (exercise) {
                const { hints } = exercise;
                const { passed, hints: seen } = exercises.doneOf(name);
                hint.textContent = hinted === 0 ? "Hint" : `Next hint (${hinted + 1} of ${hints.length})`;
                hint.hidden = hinted === hints.length;
                solve.hidden = !passed && Math.max(seen, hinted) < hints.length;
            }
        }

        function giveHint() {
            const made = element("div", "", { class: "hint" });
            made.append(...inBlocks(exercise.hints[hinted]));
            help.append(made);
            made.scrollIntoView({ block: "nearest" });
            hinted += 1;
            exercises.record(name, done => ({ ...done, hints: Math.max(done.hints, hinted) }));
            refresh();
        }

        function showSolution() {
            exercises.record(name, done => ({
                ...done,
                shown_before: done.shown_before || !done.passed,
            }));
            const made = fold("One solution", listing(exercise.solution));
            made.open = true;
            help.append(made);
            made.scrollIntoView({ block: "nearest" });
            solve.remove();
        }

        async function copyLink() {
            const state = { name, source: source.value, launch: fields?.texts() };
            const address = new URL(document.location.href);
            address.hash = `edit=${await packed(JSON.stringify(state))}`;
            history.replaceState(history.state, "", address);
            try {
                await navigator.clipboard.writeText(address.href);
                say("The link is copied. It carries your source.");
            } catch {
                say("The address of this page carries your source now: copy it.");
            }
        }

        async function check() {
            if (!halt.hidden) {
                return;
            }
            keep();
            source.clear();
            outcome.replaceChildren();
            if (obstacle !== undefined) {
                say(...inCode(obstacle));
                return;
            }
            isJudged = true;
            halt.hidden = false;
            run.setAttribute("aria-disabled", "true"); // it keeps the focus
            place.setAttribute("aria-busy", "true");
            try {
                await judge(`${before}${source.value}${behind}`);
            } catch (error) {
                say(...inCode(error.message));
                list(error instanceof Found ? error.messages : []);
            }
            place.removeAttribute("aria-busy");
            run.removeAttribute("aria-disabled");
            if (document.activeElement === halt) {
                run.focus();
            }
            halt.hidden = true;
            refresh();
        }

        async function judge(text) {
            say("Loading…");
            const about = await settings({ file, source: text, check: exercise?.check });
            await compiler.start(bytes => {
                const done = Math.floor(bytes / MEGABYTE);
                say(isHere ? "Starting the compiler…" : `Loading the compiler: ${done} of ${megabytes} MB…`);
            });
            remember(LOADED, dataset.version);
            isHere = true;
            say("Compiling…");
            const attempt = { file, source: text };
            if (exercise) {
                exercises.record(name, done => ({ ...done, checks: done.checks + 1 }));
            }
            const { ptx, messages } = await compiled(file, text, about);
            Object.assign(attempt, { ptx });
            list(messages);
            if (exercise) {
                expected ??= (await compiled("expected.cu", exercise.expected, about)).ptx;
                say("Running…");
                const { check } = exercise;
                showVerdict(await workshop.ask({ judge: { check, expected, ...attempt } }, 60));
            } else {
                say("Running…");
                const options = fields.options();
                showRuns(await workshop.ask({ check: { options, ...attempt } }, 60));
            }
            outcome.append(fold(`PTX, for compute capability ${about.compute}`, listing(ptx)));
        }

        const goTo = (line, column) =>
            source.has(line) ?
                button(`line ${line}`, () => source.goTo(line, column ?? 1))
            :   `line ${line} of the rest`;

        // What there is to say of lines.
        function list(messages) {
            const made = element("ul", "", { class: "messages" });
            for (const message of messages) {
                const item = element("li", "", { class: message.kind });
                if (message.line) {
                    source.mark(message.line, message.kind);
                    item.append(goTo(message.line, message.column), " ");
                }
                item.append(...inCode(fields ? inFields(message.text) : message.text));
                made.append(item);
            }
            if (messages.length > 0) {
                outcome.append(made);
            }
        }

        function refuse(told) {
            if (told.line) {
                const { line, error } = told;
                throw new Found([{ kind: "error", line, text: error }], "It cannot be run here.");
            }
            if (told.error !== undefined) {
                fields?.show();
                throw new Error(fields ? inFields(told.error) : told.error);
            }
        }

        function showVerdict(told) {
            refuse(told);
            const words = { good: "ok", bad: "no", open: "–" };
            const rows = told.rows.map(({ name, state, text, line }) => {
                const place = [];
                if (line) {
                    source.mark(line.number, "error");
                    place.push(" ", goTo(line.number));
                }
                return [name, element("span", words[state], { class: state }), [...inCode(text), ...place]];
            });
            outcome.append(tableOf(["demand", "state", "found"], rows));
            if (told.solved && isOfLink) {
                say("The source of the link solves it.");
            } else if (told.solved) {
                exercises.record(name, done => ({ ...done, passed: true }));
                say(element("strong", "Solved."));
                const href = new URL(`${path_to_root}exercises.html#in-the-page`, document.baseURI);
                const next = element("p");
                next.append(element("a", "The next exercise", { href }));
                outcome.append(next);
            } else {
                const bad = told.rows.filter(({ state }) => state === "bad");
                say(`Not solved yet: ${bad.map(({ name }) => name).join(", ")}`);
            }
            showPrinted(told.printed);
            showLines(told.lines);
        }

        function showRuns(told) {
            refuse(told);
            list(told.findings.map(found => ({
                ...found,
                kind: found.kind === "mistake" ? "error" : "note",
            })));
            const mistakes = told.findings.filter(({ kind }) => kind === "mistake").length;
            say(
                mistakes === 0 ? "Clean: no fault, no race."
                : mistakes === 1 ? "One mistake."
                : `${mistakes} mistakes.`,
            );
            for (const { shape, results } of told.runs) {
                const sizes = Object.entries(shape).map(([name, size]) => `${name} = ${size}`);
                outcome.append(element("p", sizes.join(", "), { class: "shape" }));
                outcome.append(listing(results.join("\n")));
            }
            showLines(told.runs.at(-1)?.lines ?? []);
        }

        function showPrinted(printed) {
            if (printed) {
                outcome.append(fold("What it printed", listing(printed)));
            }
        }

        function showLines(lines) {
            source.count(lines.map(({ line, columns }) => {
                const moved = columns.filter(([name]) => name !== "instructions");
                return [line, moved.map(([name, text]) => `${name} ${text}`).join("  ")];
            }));
            if (lines.length > 0) {
                const names = [...new Set(lines.flatMap(({ columns }) => columns.map(([name]) => name)))];
                const rows = lines.map(({ line, columns }) => {
                    const of = Object.fromEntries(columns);
                    return [goTo(line), ...names.map(name => of[name] ?? "")];
                });
                const table = tableOf(["line", ...names], rows);
                table.classList.add("lines");
                outcome.append(fold("What each line did", table));
            }
        }

        source.value = recall(key) ?? start;
        greet();
        refresh();
        place.classList.add("open");
        hideListing(place, name);
        const rest = around && fold(
            `The rest of ${file}, which is compiled with it`,
            listing(`${before}\n// … what is in the editor …\n\n${behind}`),
        );
        rest?.classList.add("rest");
        const above = [fields?.box, rest].filter(Boolean);
        place.replaceChildren(...above, source.box, controls, said, help, outcome);
        return {
            // Shows what a link carries; the reader's own is an undo away.
            show({ source: text, launch: texts }) {
                if (back?.label !== BACK) {
                    const own = { text: source.value, launch: fields?.texts() };
                    remember(`${key} mine`, JSON.stringify(own));
                    back = { ...own, label: BACK };
                }
                isOfLink = true;
                source.value = text;
                fields?.fill(texts ?? {});
                outcome.replaceChildren();
                say("This source is from the link that you opened, and has not been checked.");
                refresh();
            },
            say,
        };
    }

    const opened = new Map();
    function openedAt(place) {
        if (!opened.has(place)) {
            opened.set(place, open(place));
        }
        return opened.get(place);
    }

    for (const place of places) {
        if (place.dataset.open === undefined) {
            const isExercise = JSON.parse(place.dataset.work).exercise !== undefined;
            const begin = button(isExercise ? "Solve it here" : "Change it, and run it", () => {
                openedAt(place);
                place.querySelector(".source textarea").focus();
            });
            place.append(begin);
        } else {
            openedAt(place);
        }
    }

    // A link that carries a source opens its editor.
    async function follow() {
        // What follows it, such as a full stop, is of the text that the link stood in.
        const [, carried] = document.location.hash.match(/^#edit=([\w-]*)/u) ?? [];
        if (carried === undefined) {
            return;
        }
        const text = await unpacked(carried, 200_000);
        let state = null;
        try {
            state = Object(JSON.parse(text));
        } catch {
            // It is damaged: only what it begins with may be there.
        }
        const name = state === null ? text.match(/^\{"name":"([^"]+)"/u)?.[1] : state.name;
        const place = places.find(each => JSON.parse(each.dataset.work).name === name);
        if (place === undefined) {
            const said = state === null ? DAMAGED : "The link that you opened is of another page.";
            const alert = element("p", said, { class: "link-alert", role: "alert" });
            document.querySelector("main").prepend(alert);
            alert.scrollIntoView();
            return;
        }
        let fold = place.closest("details");
        while (fold !== null) {
            fold.open = true;
            fold = fold.parentElement.closest("details");
        }
        if (typeof state?.source === "string") {
            openedAt(place).show(state);
        } else {
            openedAt(place).say(DAMAGED);
        }
        place.scrollIntoView();
    }
    addEventListener("hashchange", follow);
    follow();
    places[0].workers = { workshop, compiler }; // for tests
})();

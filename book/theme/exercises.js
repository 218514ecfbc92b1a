// Which exercises the reader has solved: in the pages, as this browser keeps it, and at the terminal,
// as `cargo workbook serve` tells it. The page of all exercises saves and loads it as the
// terminal's file, my/progress.json.
"use strict";

(() => {
    const { recall, remember, forget, element, button, saveAs } = window.workbook;
    const KEY = "exercise progress";
    const MOST_BYTES = 1_000_000;
    const MOST_COUNT = 2 ** 32 - 1;

    // What each part of a file about an exercise has to be.
    const isCount = value => Number.isInteger(value) && value >= 0 && value <= MOST_COUNT;
    const isYes = value => typeof value === "boolean";
    const PARTS = { checks: isCount, hints: isCount, passed: isYes, shown_before: isYes };
    const NOTHING = { checks: 0, hints: 0, passed: false, shown_before: false };

    const isPlain = value =>
        typeof value === "object" && value !== null && !Array.isArray(value);

    // What a text says that was done, by the names of exercises. It may be a stranger's.
    function read(text) {
        if (text.length > MOST_BYTES) {
            throw new Error("it has more than a million characters");
        }
        const file = JSON.parse(text);
        if (!isPlain(file) || Object.keys(file).join() !== "exercises" || !isPlain(file.exercises)) {
            throw new Error("it has to be { \"exercises\": { … } }");
        }
        const all = new Map();
        for (const [name, done] of Object.entries(file.exercises)) {
            const named = JSON.stringify(name).slice(0, 80);
            if (!/^[a-z0-9-]{1,60}$/u.test(name) || !isPlain(done)) {
                throw new Error(`${named} is no exercise with what was done`);
            }
            for (const [part, value] of Object.entries(done)) {
                if (!Object.hasOwn(PARTS, part) || !PARTS[part](value)) {
                    throw new Error(`${named}: ${JSON.stringify(part).slice(0, 80)} is not as it should be`);
                }
            }
            all.set(name, { ...NOTHING, ...done });
        }
        return all;
    }

    function all() {
        try {
            return read(recall(KEY) ?? '{"exercises":{}}');
        } catch {
            return new Map(); // another program's, under our name
        }
    }

    const file = done => ({ exercises: Object.fromEntries([...done].sort()) });

    const doneOf = name => all().get(name) ?? { ...NOTHING };

    // Keeps what `change` makes of what was done of an exercise.
    function record(name, change) {
        const done = all();
        done.set(name, change(done.get(name) ?? { ...NOTHING }));
        remember(KEY, JSON.stringify(file(done)));
        mark();
    }

    // What was done at either place.
    const both = (one, other) => ({
        checks: Math.max(one.checks, other.checks),
        hints: Math.max(one.hints, other.hints),
        passed: one.passed || other.passed,
        shown_before: one.shown_before || other.shown_before,
    });

    let terminal = new Map();
    let tell = () => {}; // how far the reader is, where the page says so

    function mark() {
        const here = all();
        for (const place of document.querySelectorAll("main .exercise")) {
            const name = place.dataset.exercise;
            const done = both(here.get(name) ?? NOTHING, terminal.get(name) ?? NOTHING);
            const old = place.querySelector(".mark");
            old?.nextSibling.remove();
            old?.remove();
            if (done.checks + done.hints > 0) {
                const word = done.passed ? "solved" : "begun";
                place.prepend(element("span", word, { class: `mark ${word}` }), " ");
            }
        }
        tell();
    }

    // `cargo workbook serve` adds the place for its errors to the end of every page.
    async function askTerminal() {
        if (document.getElementById("build-error") === null) {
            return;
        }
        const root = new URL(path_to_root, document.baseURI);
        const answer = await fetch(new URL("exercises.json", root));
        if (answer.ok) {
            const told = (await answer.json()).exercises;
            terminal = new Map(told.map(done => [done.name, { ...NOTHING, ...done }]));
            mark();
        }
    }

    function offerFile(place) {
        const said = element("p", "", { role: "status" });
        const choose = element("input", "", {
            type: "file",
            accept: ".json,application/json",
            "aria-label": "A progress.json to load",
            hidden: "",
        });
        // The rows of those that are solved in a page: of kernels.
        const rows = [...document.querySelectorAll("main tr:has(.exercise)")]
            .filter(({ cells }) => cells[2]?.textContent === "page");
        // A file may have exercises that this book does not.
        const places = [...document.querySelectorAll("main .exercise")];
        const known = [...new Set(places.map(({ dataset }) => dataset.exercise))];
        tell = () => {
            const done = all();
            const solved = known.filter(name => done.get(name)?.passed).length;
            said.textContent =
                solved === 0 ? "You have solved none in this browser yet."
                : `You have solved ${solved} in this browser.`;
            const open = rows.find(row => {
                const { exercise } = row.querySelector(".exercise").dataset;
                return !doneOf(exercise).passed && !terminal.get(exercise)?.passed;
            });
            if (open !== undefined) {
                const { href, textContent } = open.querySelector("a");
                said.append(" Next in a page: ", element("a", textContent, { href }), ".");
            }
            clear.disabled = all().size === 0;
        };
        const clear = button("Clear progress", () => {
            if (confirm("Forget which exercises you have solved in this browser? Your sources stay.")) {
                forget(KEY);
                mark();
            }
        });
        choose.addEventListener("change", async () => {
            const [chosen] = choose.files;
            if (chosen === undefined) {
                return;
            }
            try {
                if (chosen.size > MOST_BYTES) {
                    throw new Error("it has more than a million bytes");
                }
                const loaded = read(await chosen.text());
                const done = all();
                for (const [name, theirs] of loaded) {
                    done.set(name, both(done.get(name) ?? NOTHING, theirs));
                }
                remember(KEY, JSON.stringify(file(done)));
                mark();
            } catch (error) {
                said.textContent = `${chosen.name} was not loaded: ${error.message}.`;
            }
            choose.value = "";
        });
        const controls = element("div", "", { class: "controls" });
        controls.append(
            button("Save as progress.json", () => saveAs("progress.json", file(all()))),
            button("Load a progress.json", () => choose.click()),
            clear,
            choose,
        );
        tell();
        place.replaceChildren(said, controls);
    }

    window.workbook.exercises = { doneOf, record };
    if (document.querySelector(".title-page") === null) {
        mark();
        document.querySelectorAll("main .my-exercises").forEach(offerFile);
        addEventListener("DOMContentLoaded", () => askTerminal().catch(() => {}));
    }
})();

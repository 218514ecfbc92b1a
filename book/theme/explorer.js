// Explorers: knobs that change what a kernel does, and the picture of it. The kernel runs in the
// engine, WebAssembly in a worker (book/engine), which also draws; here, knobs go in and pictures
// come out, and the address keeps the knobs. Without this script the first picture stands there.
"use strict";

(() => {
    const figures = [...document.querySelectorAll("main figure.explorer")];
    const isPrint = document.querySelector(".title-page") !== null;
    const { runs, moduleAt } = window.workbook.workers;
    if (figures.length === 0 || isPrint || !runs) {
        return;
    }

    function explore(figure, engine) {
        const name = figure.dataset.explorer;
        const form = figure.querySelector("form");
        const said = figure.querySelector(".said");
        const knobs = [...form.querySelectorAll("[name]")];
        const first = Object.fromEntries(knobs.map(knob => [knob.name, knob.value]));
        const key = knob => `${name}.${knob}`;

        const state = () =>
            Object.fromEntries(
                knobs
                    .filter(knob => knob.value !== first[knob.name])
                    .map(knob => [knob.name, knob.value]),
            );

        // Sliders say their value, and one that sets a text follows it where it can.
        function follow() {
            for (const slider of form.querySelectorAll("input[type=range]")) {
                const { sets, after } = slider.dataset;
                let follows = true;
                if (sets !== undefined) {
                    const text = form.elements[sets].value.replaceAll(" ", "");
                    const number = text === "t" ? "1" : text.slice(0, -after.length);
                    follows = `${number}${after}` === text || text === "t";
                    if (follows) {
                        slider.value = number;
                    }
                }
                const output = slider.parentElement.querySelector("output");
                output.textContent = follows ? slider.value : "–";
            }
        }

        let timer;
        function keepInAddress() {
            clearTimeout(timer);
            timer = setTimeout(() => {
                const address = new URL(document.location.href);
                knobs.forEach(knob => address.searchParams.delete(key(knob.name)));
                for (const [knob, value] of Object.entries(state())) {
                    address.searchParams.set(key(knob), value);
                }
                try {
                    history.replaceState(history.state, "", address);
                } catch {
                    // Too often, or not allowed here: then this state has no address.
                }
            }, 150);
        }

        let isBusy = false;
        let isDue = false;
        async function show() {
            isDue = true;
            if (isBusy) {
                return;
            }
            isBusy = true;
            while (isDue) {
                isDue = false;
                const told = await engine.ask({ explore: { name, state: state() } });
                figure.classList.toggle("refused", told.error !== undefined);
                said.textContent = told.error ?? told.said;
                if (told.error === undefined) {
                    figure.querySelector("svg.wide").outerHTML = told.wide;
                    figure.querySelector("svg.narrow").outerHTML = told.narrow;
                }
            }
            isBusy = false;
        }

        function moved() {
            follow();
            keepInAddress();
            show();
        }

        function set(knob, value) {
            if (form.elements[knob].value !== value) {
                form.elements[knob].value = value;
                moved();
            }
        }

        form.addEventListener("submit", event => event.preventDefault());
        form.addEventListener("input", ({ target }) => {
            const { sets, after } = target.dataset;
            if (sets !== undefined) {
                form.elements[sets].value = target.value + after;
            }
            moved();
        });
        form.addEventListener("reset", () => setTimeout(moved));
        // mdBook turns the page on the arrow keys, which move a slider here.
        form.addEventListener("keydown", event => event.stopPropagation());
        form.addEventListener("click", ({ target }) => {
            const { sets, value } = target.closest("button")?.dataset ?? {};
            if (sets !== undefined) {
                set(sets, value);
            }
        });
        const point = ({ target }) => {
            const { sets, value } = target.closest("svg [data-sets]")?.dataset ?? {};
            if (sets !== undefined) {
                set(sets, value);
            }
        };
        figure.addEventListener("click", point);
        figure.addEventListener("pointermove", event => {
            if (event.pointerType === "mouse" && event.buttons === 1) {
                point(event);
            }
        });

        figure.querySelector(".still").hidden = true;
        form.hidden = false;
        const given = new URLSearchParams(document.location.search);
        const linked = knobs.filter(knob => given.has(key(knob.name)));
        for (const knob of linked) {
            knob.value = given.get(key(knob.name));
        }
        follow();
        if (linked.length > 0) {
            show();
        }
    }

    const address = new URL(figures[0].dataset.engine, document.baseURI).href;
    const engine = moduleAt(address, "workbookEngine");
    figures.forEach(figure => explore(figure, engine));
    // It is there before a knob is moved.
    const seen = new IntersectionObserver(entries => {
        if (entries.some(entry => entry.isIntersecting)) {
            seen.disconnect();
            engine.start().catch(() => {}); // who asks is told
        }
    });
    figures.forEach(figure => seen.observe(figure));
    figures[0].engine = engine; // for tests
})();

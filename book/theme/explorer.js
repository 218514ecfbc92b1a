// Explorers: knobs that change what a kernel does, and the picture of it. The kernel runs in the
// engine, WebAssembly in a worker (book/engine), which also draws; here, knobs go in and pictures
// come out, and the address keeps the knobs. Without this script the first picture stands there.
"use strict";

(() => {
    const figures = [...document.querySelectorAll("main figure.explorer")];
    const isPrint = document.querySelector(".title-page") !== null;
    const { inCode } = window.workbook;
    const { runs, moduleAt } = window.workbook.workers;
    if (figures.length === 0 || isPrint) {
        return;
    }

    // What was measured is hidden as long as the chart of it is. Tells whether it is.
    function veil(figure) {
        const parts = [...figure.querySelectorAll("svg .measured")];
        for (const part of parts) {
            const chart = document.getElementById(part.dataset.chart ?? "");
            part.classList.toggle("veiled", chart?.classList.contains("veiled") ?? false);
        }
        return parts.some(part => part.classList.contains("veiled"));
    }

    figures.forEach(veil);
    document.addEventListener("unveil", () => figures.forEach(veil));
    if (!runs) {
        return;
    }

    function explore(figure, engine) {
        const name = figure.dataset.explorer;
        const form = figure.querySelector("form");
        const said = figure.querySelector(".said");
        const measured = JSON.parse(figure.dataset.measured);
        const knobs = [...form.querySelectorAll("[name]")];
        const first = Object.fromEntries(knobs.map(knob => [knob.name, knob.value]));
        const key = knob => `${name}.${knob}`;
        figure.id = `explorer-${name}`;

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
                    const before = slider.value;
                    slider.value = number;
                    follows = `${slider.value}${after}` === text || text === "t";
                    if (!follows) {
                        slider.value = before;
                    }
                }
                const shown = slider.parentElement.querySelector("b");
                shown.textContent = follows ? slider.value : "–";
                slider.ariaValueText = follows ? null : "another text is set";
            }
        }

        let timer;
        function keepInAddress() {
            clearTimeout(timer);
            timer = setTimeout(() => {
                const address = new URL(document.location.href);
                knobs.forEach(knob => address.searchParams.delete(key(knob.name)));
                const moved = Object.entries(state());
                for (const [knob, value] of moved) {
                    address.searchParams.set(key(knob), value);
                }
                // So that the address, sent as a link, leads here.
                if (moved.length > 0) {
                    address.hash = figure.id;
                } else if (address.hash === `#${figure.id}`) {
                    address.hash = "";
                }
                try {
                    history.replaceState(history.state, "", address);
                } catch {
                    // Too often, or not allowed here: then this state has no address.
                }
            }, 150);
        }

        const say = text => said.replaceChildren(...inCode(text));

        let isBusy = false;
        let isDue = false;
        async function show() {
            isDue = true;
            if (isBusy) {
                return;
            }
            isBusy = true;
            const waits = setTimeout(() => {
                said.textContent = "One moment: the emulated GPU is being loaded.";
            }, 400);
            while (isDue) {
                isDue = false;
                const told = await engine.ask({ name, state: state(), measured });
                clearTimeout(waits);
                const { error, wide, narrow } = told;
                figure.classList.toggle("refused", error !== undefined);
                for (const field of form.querySelectorAll("[type=text]")) {
                    field.ariaInvalid = error === undefined ? null : "true";
                }
                if (error === undefined) {
                    figure.querySelector("svg.wide").outerHTML = wide;
                    figure.querySelector("svg.narrow").outerHTML = narrow;
                } else {
                    const what = `${error.replaceAll("`", "")} The picture is of the setting before.`;
                    for (const picture of figure.querySelectorAll("svg")) {
                        picture.ariaLabel = what;
                    }
                }
                const also = veil(figure) ? "" : told.measured;
                say(error ?? (also ? `${told.said} ${also}` : told.said));
                if (!isDue && told.limit) {
                    const [knob, most] = told.limit;
                    const slider = form.elements[knob];
                    const isBeyond = slider.value > most;
                    slider.max = most;
                    if (isBeyond) {
                        follow();
                        keepInAddress();
                    }
                }
            }
            isBusy = false;
        }

        function moved() {
            follow();
            keepInAddress();
            show();
        }

        // Sets knobs to what an address says of them: `warp=3`.
        function set(values) {
            const before = new URLSearchParams(new FormData(form)).toString();
            for (const [knob, value] of values) {
                form.elements[knob].value = value;
            }
            if (new URLSearchParams(new FormData(form)).toString() !== before) {
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
            const button = target.closest("button");
            const { sets, value, adds, step } = button?.dataset ?? {};
            if (value !== undefined) {
                set([[sets, value]]);
            } else if (adds !== undefined) {
                const text = form.elements[sets].value.trim();
                set([[sets, adds === "" ? text.replace(/\s*\S$/, "") : `${text} ${adds}`.trim()]]);
            } else if (step !== undefined) {
                const slider = button.parentElement.querySelector("input");
                slider.stepUp(Number(step));
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
        });

        // Places of the picture set knobs: by a tap, or while something is dragged onto those that
        // are for it; a mouse drags over the others as well.
        let dragged;
        const point = ({ clientX, clientY }) => {
            const there = document.elementsFromPoint(clientX, clientY);
            const place = there.find(
                ({ dataset }) => dataset?.state !== undefined && dataset.for === dragged.thing,
            );
            if (place !== undefined && figure.contains(place)) {
                set(new URLSearchParams(place.dataset.state));
            }
        };
        figure.addEventListener("pointerdown", event => {
            const thing = event.target.closest("svg [data-drag]")?.dataset.drag;
            const isPlace = event.target.closest("svg [data-state]") !== null;
            if (event.isPrimary && event.button === 0) {
                if (thing !== undefined || (isPlace && event.pointerType === "mouse")) {
                    dragged = { thing };
                    figure.setPointerCapture(event.pointerId); // the picture may be another by then
                    point(event);
                }
            }
        });
        // A finger that drags does not scroll the page.
        figure.addEventListener(
            "touchstart",
            event => {
                if (event.target.closest("svg [data-drag]") !== null) {
                    event.preventDefault();
                }
            },
            { passive: false },
        );
        figure.addEventListener("pointermove", event => {
            if (dragged !== undefined) {
                point(event);
            }
        });
        figure.addEventListener("lostpointercapture", () => {
            dragged = undefined;
        });
        figure.addEventListener("click", ({ target }) => {
            const waiting = target.closest("svg .measured.veiled");
            if (waiting !== null) {
                document.location.hash = waiting.dataset.chart; // a fold around it opens
            }
            const { state } = target.closest("svg [data-state]")?.dataset ?? {};
            if (state !== undefined) {
                set(new URLSearchParams(state));
            }
        });

        figure.querySelector(".still").hidden = true;
        form.hidden = false;
        const given = new URLSearchParams(document.location.search);
        const linked = knobs.filter(knob => given.has(key(knob.name)));
        if (linked.length > 0) {
            // How far a slider goes is as at first until the link's setting is shown.
            for (const slider of form.querySelectorAll("[data-most]")) {
                slider.max = slider.dataset.most;
            }
        }
        const refused = [];
        for (const knob of linked) {
            const before = knob.value;
            const value = given.get(key(knob.name));
            knob.value = value;
            if (knob.value !== value) {
                knob.value = before;
                refused.push(`\`${knob.name}=${value}\``);
            }
        }
        follow();
        const { hash } = document.location;
        if (hash === `#${figure.id}` || (hash === "" && linked.length > 0)) {
            figure.scrollIntoView();
        }
        if (linked.length > 0) {
            keepInAddress();
            show().then(() => {
                if (refused.length > 0) {
                    const settings = refused.join(" and ");
                    const were = refused.length > 1 ? "were" : "was";
                    const rest = said.textContent;
                    say(`The link's ${settings} cannot be set here and ${were} left out. ${rest}`);
                }
            });
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

// The reader's predictions, made before the figure is seen, kept in this browser and drawn
// on the chart; and the page that lists them all. Without this script, or without storage,
// questions and answers can still be read.

"use strict";

(() => {
    const { keyOf, recall, remember, element, button, watchScrolling, saveAs } = window.workbook;
    const { svgElement, locate, drawOn } = window.workbook.curves;

    // Numbers as people type them.

    // The number in `text`, or null; none is below 0. `1,234` groups thousands; `1,5` is a decimal comma;
    // a trailing unit is allowed if it is the one asked for.
    function parseGuess(text, unit) {
        let number = text.trim();
        for (const suffix of unit === "×" ? ["×", "x"] : [unit]) {
            if (suffix && number.toLowerCase().endsWith(suffix.toLowerCase())) {
                number = number.slice(0, -suffix.length).trim();
                break;
            }
        }
        const exponent = "(?:[eE][+-]?\\d+)?";
        const grouped = new RegExp(
            `^\\+?[1-9]\\d{0,2}(?:([,\\s])\\d{3})(?:\\1\\d{3})*(?:\\.\\d+)?${exponent}$`,
            "u",
        );
        if (grouped.test(number)) {
            number = number.replace(/[,\s]/gu, "");
        } else {
            number = number.replace(/^(\+?\d*),(\d+)/u, "$1.$2");
        }
        const plain = new RegExp(`^\\+?(?:\\d+\\.?\\d*|\\.\\d+)${exponent}$`, "u");
        const value = plain.test(number) ? Number(number) : NaN;
        return Number.isFinite(value) ? value : null;
    }

    // What a question, whose `dataset` this is, was answered with: one of its choices, all of them
    // in an order, a number, or the values of a curve.
    function read(text, { at, choices, inOrder, unit }) {
        if (at !== undefined) {
            const values = text.split(ORDER).map(Number);
            const isWhole = values.length === JSON.parse(at).length;
            return isWhole && values.every(value => value > 0 && value < Infinity) ? text : null;
        }
        if (choices === undefined) {
            return parseGuess(text, unit);
        }
        const all = JSON.parse(choices);
        if (inOrder !== undefined) {
            const ranked = text.split(ORDER);
            const isWhole = ranked.length === all.length && all.every(each => ranked.includes(each));
            return isWhole ? text : null;
        }
        return all.includes(text) ? text : null;
    }

    // Between choices that are put in order, and between values.
    const ORDER = ", ";

    const withUnit = (text, unit) =>
        ["×", "%"].includes(unit) ? text + unit : unit ? `${text}\u00a0${unit}` : text;

    const rounded = (value, digits) => String(Number(value.toPrecision(digits)));

    const inWords = factor =>
        factor <= 1.1 ? "Spot on."
        : factor <= 1.5 ? "Close."
        : factor <= 3 ? "Right order of magnitude."
        : "Surprised: read on.";

    // How many times as large one is as the other.
    const apart = (guess, truth) =>
        guess === truth ? 1
        : guess * truth > 0 ? Math.max(guess / truth, truth / guess)
        : Infinity;

    // The same in words, from the truth.
    function distance(guess, truth, unit) {
        const off = guess === truth ? 0 : Math.abs(guess / truth - 1);
        const factor = apart(guess, truth);
        const side = guess > truth ? "too high" : "too low";
        if (off < 0.005) {
            return "right to within 0.5%";
        }
        if (factor >= 2) {
            return Number.isFinite(factor) ? `a factor of ${rounded(factor, 2)} ${side}` : side;
        }
        return unit === "%"
            ? `${rounded(Math.abs(guess - truth), 2)} percentage points ${side}`
            : `${rounded(100 * off, 2)}% ${side}`;
    }

    // How a guess compares with the answer of a question, whose `dataset` this is, in words.
    // What is computed is right or not; what is measured, only nearer or further.
    function judge(guess, dataset) {
        const { answer, scale, unit, answerText, at, computed, choices } = dataset;
        const exact = right => {
            const score = right ? "Right." : "Not quite.";
            return { score, right, outcome: right ? score : `Not quite: it is ${answerText}.` };
        };
        if (at !== undefined) {
            return judgeCurve(guess, dataset);
        }
        if (choices !== undefined) {
            const right = guess === answer;
            return { ...exact(right), factor: right ? 1 : Infinity };
        }
        const truth = Number(answer) / Number(scale);
        const factor = apart(guess, truth);
        if (computed !== undefined) {
            const decimals = answerText.match(/\.(\d+)/u)?.[1].length ?? 0;
            return { ...exact(guess.toFixed(decimals) === truth.toFixed(decimals)), factor };
        }
        const score = inWords(factor);
        const comparison =
            `You predicted ${withUnit(String(guess), unit)}; measured: ${answerText}. ` +
            `Your prediction is ${distance(guess, truth, unit)}.`;
        return { score, factor, outcome: score, comparison };
    }

    // The same of a curve: half of its points are at most so far off.
    function judgeCurve(drawn, { answer, at, scale, unit }) {
        const [truths, places] = [JSON.parse(answer), JSON.parse(at)];
        const points = drawn.split(ORDER).map((value, n) => {
            const [guess, truth] = [Number(value), truths[n] / Number(scale)];
            return { guess, truth, place: places[n][1], factor: apart(guess, truth) };
        });
        const factor = median(points);
        const worst = points.reduce((a, b) => (b.factor > a.factor ? b : a));
        const typical =
            factor < 1.1 ? `${Math.round(100 * (factor - 1))}%` : `a factor of ${rounded(factor, 2)}`;
        const score = inWords(factor);
        const comparison =
            `Typically you are within ${typical} of what was measured. You parted most at ` +
            `${worst.place}: ${withUnit(String(worst.guess), unit)} drawn, ` +
            `${withUnit(rounded(worst.truth, 3), unit)} measured, ` +
            `${distance(worst.guess, worst.truth, unit)}.`;
        return { score, factor, outcome: score, comparison };
    }

    // Figures: the veil and the guess.

    // The charts that predictions are about.
    const predicted = new Set(
        Array.from(document.querySelectorAll(".prediction"), ({ dataset }) => dataset.figure),
    );
    const isPredicted = ({ id }) => predicted.has(id.replace(/-reference$/, ""));

    // The text about a figure: what follows up to the next figure with a question, question or
    // heading other than *Why*. A fold that is closed, such as a nudge, gives nothing away, and an
    // explorer that a link sets is what the link is about.
    function aftermath(figure) {
        const set = [...new URLSearchParams(document.location.search).keys()];
        const isLinked = ({ dataset: { explorer } }) =>
            explorer !== undefined && set.some(key => key.startsWith(`${explorer}.`));
        const text = [];
        let next = figure.nextElementSibling;
        while (next && !next.matches("h2:not(#why), h3, h4, .prediction") && !isPredicted(next)) {
            if (!next.matches("details, #why") && !isLinked(next)) {
                text.push(next);
            }
            next = next.nextElementSibling;
        }
        return text;
    }

    function hideText(parts, hidden) {
        for (const part of parts) {
            part.inert = hidden;
            part.classList.toggle("awaits", hidden);
        }
    }

    function hideFromReaders(figure, hidden) {
        hideText(aftermath(figure), hidden);
        const parts = ":scope > svg, :scope > details, figcaption strong";
        for (const part of figure.querySelectorAll(parts)) {
            if (hidden) {
                part.setAttribute("aria-hidden", "true");
            } else {
                part.removeAttribute("aria-hidden");
            }
            if (part.hasAttribute("tabindex")) {
                part.tabIndex = hidden ? -1 : 0;
            }
        }
    }

    // Two ways on from something that waits for `prediction`, which the second shows.
    function waysOn(prediction, label, waiting) {
        return [
            button("Make a prediction first", () => prediction.input.focus()),
            " ",
            button(label, () => {
                prediction.lookUp();
                for (const each of prediction.figures) {
                    remember(`shown ${each.id}`, "yes");
                    unveil(each);
                }
                waiting.tabIndex = -1;
                waiting.focus({ preventScroll: true });
            }),
        ];
    }

    function veil(figure, prediction) {
        const cover = element("div", "", { class: "veil" });
        cover.append(...waysOn(prediction, "or show the figure", figure));
        figure.append(cover);
        figure.classList.add("veiled");
        hideFromReaders(figure, true);
        // An explorer may be far below the figure: it says itself what it waits for.
        for (const explorer of aftermath(figure).filter(part => part.matches(".explorer"))) {
            const what = "This explorer may give the answer away, so it waits for your prediction.";
            const words = element("p", what, { class: "veil-text" });
            words.append(document.createElement("br"), ...waysOn(prediction, "or show it", explorer));
            explorer.before(words);
        }
    }

    function unveil(figure) {
        const cover = figure.querySelector(":scope > .veil");
        if (cover !== null) {
            cover.remove();
            figure.classList.remove("veiled");
            figure.dispatchEvent(new Event("unveil", { bubbles: true })); // for explorers
            hideFromReaders(figure, false);
            const words = aftermath(figure).filter(part => part.matches(".veil-text"));
            words.forEach(part => part.remove());
        }
    }

    // `prediction` has been made: its text and its figures show.
    function settle(prediction) {
        hideText(prediction.text, false);
        prediction.wayOut?.remove();
        prediction.curve?.reveal();
        prediction.figures.forEach(unveil);
    }

    const overlap = (a, b) =>
        Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
        Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

    // Draws `value` across the plot of `svg` as a dashed line, its label where it covers
    // least of what is there.
    function drawGuess(svg, id, value) {
        for (const old of svg.querySelectorAll(":scope > .guess")) {
            if (old.dataset.prediction === id) {
                old.remove();
            }
        }
        if (!svg.dataset.valueAxis) {
            return;
        }
        const upright = svg.dataset.valueAxis === "x";
        const { pixel, beyond } = locate(svg, value);
        const from = Number(svg.dataset.crossStart);
        const to = Number(svg.dataset.crossEnd);
        const group = svgElement("g", { class: "guess", "aria-hidden": "true" });
        group.dataset.prediction = id;
        const ends = upright
            ? { x1: pixel, x2: pixel, y1: from, y2: to }
            : { x1: from, x2: to, y1: pixel, y2: pixel };
        group.append(
            svgElement("line", { class: "halo", ...ends }),
            svgElement("line", { class: "mark", ...ends }),
        );
        if (beyond !== 0) {
            // Far from where the label prefers to stand.
            const across = from + 0.9 * (to - from);
            group.append(arrowhead(svg, upright, pixel, across, beyond));
        }
        const label = svgElement("text", {});
        label.textContent =
            beyond === 0 ? "your prediction" : "your prediction, off the scale";
        group.append(label);
        svg.append(group);
        placeLabel(svg, label, labelPlaces(upright, pixel, from, to));
    }

    // A triangle inside the plot that points past its end.
    function arrowhead(svg, upright, pixel, across, beyond) {
        const { valueStart, valueEnd } = svg.dataset;
        const outward = Math.sign(Number(valueEnd) - Number(valueStart)) * beyond;
        const base = pixel - 9 * outward;
        const corners = [[pixel, across], [base, across - 6], [base, across + 6]]
            .map(([value, cross]) => (upright ? [value, cross] : [cross, value]))
            .map(corner => corner.join(","));
        return svgElement("path", { class: "arrow", d: `M${corners.join("L")}Z` });
    }

    // Where the label may stand, the preferred places first.
    function labelPlaces(upright, pixel, from, to) {
        const inset = 6;
        const low = Math.min(from, to);
        const high = Math.max(from, to);
        const shares = [0, 1, 0.5, 0.25, 0.75];
        if (upright) {
            return shares.flatMap(share => {
                const y = low + 14 + share * (high - low - 20);
                return [
                    { x: pixel + inset, y, anchor: "start" },
                    { x: pixel - inset, y, anchor: "end" },
                ];
            });
        }
        return shares.flatMap(share => {
            const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
            const x = low + inset + share * (high - low - 2 * inset);
            return [
                { x, y: pixel - inset, anchor },
                { x, y: pixel + 15, anchor },
            ];
        });
    }

    function placeLabel(svg, label, places) {
        // Only what is displayed can be measured; nothing is painted in between.
        svg.style.display = "block";
        const frame = svg.getBoundingClientRect();
        const marks = "text, circle, rect:not(.hover *), .arrow";
        const taken = Array.from(svg.querySelectorAll(marks))
            .filter(element => element !== label)
            .map(element => element.getBoundingClientRect());
        let best = null;
        for (const place of places) {
            label.setAttribute("x", place.x);
            label.setAttribute("y", place.y);
            label.setAttribute("text-anchor", place.anchor);
            const box = label.getBoundingClientRect();
            const outside = box.width * box.height - overlap(box, frame);
            const covered = taken.reduce((sum, other) => sum + overlap(box, other), 0);
            const cost = 10 * Math.max(0, outside) + covered;
            if (best === null || cost < best.cost - 1) {
                best = { place, cost };
            }
        }
        label.setAttribute("x", best.place.x);
        label.setAttribute("y", best.place.y);
        label.setAttribute("text-anchor", best.place.anchor);
        svg.style.display = "";
    }

    // Predictions.

    function setUp(section) {
        const { scale, unit, figure, drawn, computed, wrong } = section.dataset;
        const question = section.querySelector(".question");
        const form = section.querySelector("form");
        const inputs = [...form.querySelectorAll("input:not(.because input)")];
        const [input] = inputs;
        const because = form.querySelector(".because input");
        const outcome = section.querySelector(".outcome");
        const details = section.querySelector("details");
        const reason = element("p", "", { class: "reason" });
        const submit = form.querySelector("button[type=submit]");
        const isChoice = input.type === "radio";
        const isOrder = section.dataset.inOrder !== undefined;
        const curve = section.dataset.at === undefined ? undefined : drawOn(section, input);
        const ranks = [...form.querySelectorAll("button.rank")];
        // The first guess counts, unless the answer was shown before it.
        let kept = recall(section.id);
        let seen = recall(`seen ${section.id}`) !== null;
        const prediction = {
            section,
            curve,
            input: curve ?? input,
            lookUp() {
                if (kept === null) {
                    seen = true;
                    remember(`seen ${section.id}`, "yes");
                } else if (computed !== undefined) {
                    remember(`tried ${section.id}`, "yes");
                }
            },
            // This machine's figure, and the reference machine's below it.
            figures: (figure ? [figure, `${figure}-reference`] : [])
                .map(id => document.getElementById(id))
                .filter(element => element !== null),
            // Without a figure, the text below gives the answer away.
            text: figure ? [] : aftermath(section),
        };
        question.id = `question-${section.id}`;
        outcome.id = `outcome-${section.id}`;
        for (const each of inputs) {
            each.setAttribute("aria-describedby", `${question.id} ${outcome.id}`);
        }

        function entered() {
            const chosen = isChoice ? inputs.find(each => each.checked) : input;
            return chosen?.value ?? "";
        }

        function enter(text) {
            if (isChoice) {
                inputs.forEach(each => { each.checked = each.value === text; });
            } else {
                input.value = text;
                ranks.forEach(mark);
                curve?.show(text.split(ORDER).map(Number));
            }
        }

        // A rank that is in the order says so, and leaves it when it is pressed again.
        const order = () => input.value.split(ORDER).filter(each => each !== "");

        function mark(rank) {
            rank.setAttribute("aria-pressed", String(order().includes(rank.textContent)));
        }

        for (const rank of ranks) {
            rank.addEventListener("click", () => {
                const own = rank.textContent;
                const others = order().filter(each => each !== own);
                const isNew = others.length === order().length;
                input.value = (isNew ? [...others, own] : others).join(ORDER);
                mark(rank);
            });
        }

        function refuse() {
            inputs.forEach(each => each.setAttribute("aria-invalid", "true"));
            outcome.classList.add("refused");
            const example = withUnit("12.5", unit);
            outcome.textContent =
                isChoice ? "Please choose one."
                : isOrder ? "Please press all of them, one after the other."
                : curve ? "Please place every ring. A click, or Enter, leaves it where it is."
                : `Please give one number, not below 0, for example ${example}.`;
        }

        function say(strong, ...rest) {
            inputs.forEach(each => each.removeAttribute("aria-invalid"));
            outcome.classList.remove("refused");
            const said = rest.filter(text => text !== undefined).map(text => ` ${text}`);
            outcome.replaceChildren(element("strong", strong), ...said);
            submit.textContent = "Guess again";
        }

        // What there is to say to this wrong answer.
        function objection(guess) {
            const is = answer => (isChoice || isOrder ? answer === guess : Number(answer) === guess);
            return Object.entries(JSON.parse(wrong ?? "{}")).find(([answer]) => is(answer))?.[1];
        }

        // What is exact can be found on a second try, before the answer is shown.
        const hasSecondTry = guess =>
            computed !== undefined &&
            !seen &&
            recall(`tried ${section.id}`) === null &&
            !judge(guess, section.dataset).right;

        function accept(guess) {
            const { outcome: said, comparison } = judge(guess, section.dataset);
            const first = read(kept, section.dataset);
            const counts =
                seen ? "It does not count: the answer was shown before."
                : guess !== first ? `Your first guess counts, ${withUnit(String(first), unit)}.`
                : undefined;
            say(said, objection(guess), comparison, counts);
            const why = recall(`because ${section.id}`) ?? because.value.trim();
            if (why !== "") {
                reason.textContent = `You said: because ${why}`;
                details.append(reason);
            }
            details.open = true;
            settle(prediction);
            for (const each of drawn === undefined ? [] : prediction.figures) {
                const draw = () => {
                    for (const svg of each.querySelectorAll(":scope > svg")) {
                        drawGuess(svg, section.id, guess * Number(scale));
                    }
                };
                draw();
                // What a closed fold hides may have no size to place a label by.
                const fold = each.closest("details:not([open])");
                fold?.addEventListener("toggle", draw, { once: true });
            }
        }

        const tryAgain = guess => say("Not quite.", objection(guess), "Try once more.");

        form.addEventListener("submit", event => {
            event.preventDefault();
            const guess = read(entered(), section.dataset);
            if (guess === null) {
                refuse();
                return;
            }
            if (because.value.trim() !== "") {
                remember(`because ${section.id}`, because.value.trim());
            }
            const isFirst = kept === null;
            if (isFirst) {
                kept = entered();
                remember(section.id, kept);
            }
            if (isFirst && hasSecondTry(guess)) {
                tryAgain(guess);
            } else {
                accept(guess);
            }
        });

        // Whoever looks the answer up has no more use for the veil.
        details.addEventListener("toggle", () => {
            if (details.open) {
                prediction.lookUp();
                settle(prediction);
            }
        });

        const guess = kept === null ? null : read(kept, section.dataset);
        if (guess === null) {
            kept = null; // not ours
        } else {
            enter(kept);
            because.value = recall(`because ${section.id}`) ?? "";
        }
        if (guess !== null && !hasSecondTry(guess)) {
            accept(guess);
            return;
        }
        if (guess !== null) {
            tryAgain(guess);
        }
        hideText(prediction.text, true);
        if (prediction.text.length > 0) {
            prediction.wayOut = element("p", "", { class: "veil-text" });
            prediction.wayOut.append(
                button("Make a prediction first", () => prediction.input.focus()),
                " ",
                button("or show the text", () => {
                    details.open = true;
                }),
            );
            prediction.text[0].before(prediction.wayOut);
        }
        for (const each of prediction.figures) {
            if (recall(`shown ${each.id}`) === null) {
                veil(each, prediction);
            }
        }
    }

    // My predictions: the page that lists them all.

    // Whether anything lasts longer than the page.
    function hasStorage() {
        try {
            localStorage.setItem(keyOf("probe"), "");
            localStorage.removeItem(keyOf("probe"));
            return true;
        } catch {
            return false;
        }
    }

    function forgetAll() {
        const isOurs = key => key.startsWith(keyOf("")) && !key.startsWith(keyOf("exercise "));
        Object.keys(localStorage).filter(isOurs).forEach(key => localStorage.removeItem(key));
    }

    // A question of the list, with the reader's guess if there is one.
    function asked(item) {
        const { answerText, unit, part, page } = item.dataset;
        const link = item.querySelector("a");
        const id = link.hash.slice(1);
        const kept = recall(id);
        const guess = kept === null ? null : read(kept, item.dataset);
        const judged = guess !== null && judge(guess, item.dataset);
        const seen = recall(`seen ${id}`) !== null;
        return { id, link, part, page, unit, answerText, guess, seen, ...judged };
    }

    // Half of the guesses are at most so far off.
    function median(guesses) {
        const factors = guesses.map(({ factor }) => factor).sort((a, b) => a - b);
        return factors[Math.ceil(factors.length / 2) - 1];
    }

    // Near 1 a second digit behind the point tells a near miss from none.
    const times = factor =>
        Number.isFinite(factor) ? `${rounded(factor, factor < 1.1 ? 3 : 2)}×` : "not comparable";

    const withinHalf = guesses => {
        const factor = median(guesses);
        const within = factor < 1.005 ? "0.5%" : times(factor);
        return guesses.length > 1 && Number.isFinite(factor)
            ? `, half of your guesses are within ${within}`
            : "";
    };

    const isCounted = ({ guess, seen }) => guess !== null && !seen;

    function tableOf(part, questions) {
        const guesses = questions.filter(isCounted);
        const table = element("table");
        table.append(
            element(
                "caption",
                `${part}: ${guesses.length} of ${questions.length} answered${withinHalf(guesses)}.`,
            ),
        );
        const head = table.createTHead().insertRow();
        for (const name of ["Question", "You", "Answer", "Off by"]) {
            const kind = name === "Question" ? {} : { class: "number" };
            head.append(element("th", name, { scope: "col", ...kind }));
        }
        const body = table.createTBody();
        for (const { link, unit, answerText, guess, factor } of guesses) {
            const row = body.insertRow();
            row.insertCell().append(link);
            for (const text of [withUnit(String(guess), unit), answerText, times(factor)]) {
                row.append(element("td", text, { class: "number" }));
            }
        }
        const wrapper = element("div", "", { class: "table" });
        wrapper.append(table);
        watchScrolling(wrapper);
        return wrapper;
    }

    function scoreOf(guesses, count) {
        const kinds = [
            ["Right.", "right"],
            ["Not quite.", "not quite"],
            ["Spot on.", "spot on"],
            ["Close.", "close"],
            ["Right order of magnitude.", "of the right order of magnitude"],
            ["Surprised: read on.", "surprising"],
        ];
        const counts = kinds
            .map(([wanted, name]) => [guesses.filter(({ score }) => score === wanted).length, name])
            .filter(([number]) => number > 0)
            .map(([number, name]) => `${number} ${name}`);
        return (
            `You have answered ${guesses.length} of ${count} questions: ` +
            `${counts.join(", ")}${withinHalf(guesses).replace(", ", "; ")}.`
        );
    }

    function exported(guesses) {
        const data = guesses.map(({ id, page, link, guess, unit, answerText, factor }) => ({
            id,
            page,
            question: link.textContent,
            guess,
            because: recall(`because ${id}`),
            unit,
            measured: answerText,
            off_by_factor: Number.isFinite(factor) ? factor : null,
        }));
        saveAs("my-predictions.json", data);
    }

    function listAll(section) {
        if (!hasStorage()) {
            section.replaceChildren(
                element("p", "Your browser keeps nothing for this book, so there is nothing to show."),
            );
            return;
        }
        const questions = [...section.querySelectorAll("li")].map(asked);
        const guesses = questions.filter(isCounted);
        const seen = questions.filter(({ seen }) => seen).length;
        const next = questions.find(({ guess, seen }) => guess === null && !seen);
        const parts = [];
        if (guesses.length === 0) {
            parts.push(element("p", `You have answered none of ${questions.length} questions yet.`));
        } else {
            parts.push(element("p", scoreOf(guesses, questions.length), { class: "score" }));
        }
        if (seen > 0) {
            const answers = seen === 1 ? "1 answer was" : `${seen} answers were`;
            parts.push(element("p", `${answers} shown before you guessed, which does not count.`));
        }
        if (next) {
            const paragraph = element("p", `The next question, on ${next.page}: `);
            paragraph.append(next.link.cloneNode(true));
            parts.push(paragraph);
        }
        const ofPart = Map.groupBy(questions, ({ part }) => part);
        for (const [part, questions] of ofPart) {
            if (questions.some(isCounted)) {
                parts.push(tableOf(part, questions));
            }
        }
        if (guesses.length + seen > 0) {
            const controls = element("div", "", { class: "controls" });
            const forget = button("Forget them all", () => {
                if (forget.dataset.sure) {
                    forgetAll();
                    location.reload();
                }
                forget.dataset.sure = "yes";
                forget.textContent = `Really forget ${guesses.length + seen}?`;
            });
            controls.append(button("Save as JSON", () => exported(guesses)), forget);
            parts.push(controls);
        }
        section.replaceChildren(...parts);
    }

    document.documentElement.classList.add("js-prediction");
    document.querySelectorAll("section.prediction").forEach(setUp);
    document.querySelectorAll("section.my-predictions").forEach(listAll);
})();

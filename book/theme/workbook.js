// The reader's side of the workbook: what it keeps in this browser; the values of charts,
// by pointing, touch and keyboard; what mdBook lacks for the keyboard. Without this script,
// or without storage, all of the book can still be read.

"use strict";

(() => {
    // Storage. Books opened as files share one storage, so keys carry the book's path.

    const bookPath = new URL(
        (typeof path_to_root === "string" && path_to_root) || "./",
        document.baseURI,
    ).pathname;

    const keyOf = name => `workbook ${bookPath} ${name}`;

    // Reading and writing may throw where storage is turned off or full: the prediction
    // then lasts as long as the page.
    function recall(name) {
        try {
            return localStorage.getItem(keyOf(name));
        } catch {
            return null;
        }
    }

    function remember(name, text) {
        try {
            localStorage.setItem(keyOf(name), text);
        } catch {
            // Nothing to do: see above.
        }
    }

    function forget(name) {
        try {
            localStorage.removeItem(keyOf(name));
        } catch {
            // Nothing to do: see above.
        }
    }

    // Elements that scripts make.

    function element(name, text = "", attributes = {}) {
        const made = document.createElement(name);
        made.textContent = text;
        for (const [key, value] of Object.entries(attributes)) {
            made.setAttribute(key, value);
        }
        return made;
    }

    // Text in which `code` is set as such.
    function inCode(text) {
        return text.split("`").map((part, n) => (n % 2 === 1 ? element("code", part) : part));
    }

    function button(text, action) {
        const element = document.createElement("button");
        element.type = "button";
        element.textContent = text;
        element.addEventListener("click", action);
        return element;
    }

    function saveAs(name, data) {
        const text = `${JSON.stringify(data, null, 2)}\n`;
        const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
        element("a", "", { href: address, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(address), 60_000);
    }

    // The values of charts. Each thing that is drawn has an invisible target, and a title,
    // which browsers show only to a mouse that rests on it.

    // How far from a target, in pixels, pointing at it still counts.
    const REACH = 16;

    const middle = ({ left, right }) => (left + right) / 2;

    function distance({ left, right, top, bottom }, x, y) {
        const across = Math.max(left - x, 0, x - right);
        const down = Math.max(top - y, 0, y - bottom);
        const inside = Math.hypot(x - (left + right) / 2, y - (top + bottom) / 2);
        // Where several are pointed at, the one whose middle is nearest.
        return { away: Math.hypot(across, down), inside };
    }

    function showValues(figure) {
        const readout = document.createElement("div");
        readout.className = "readout";
        readout.setAttribute("role", "status");
        let shown = null;

        // Says `text` above `box`, at `x` or in its middle.
        function say(text, box, x = middle(box)) {
            if (readout.textContent !== text) {
                readout.textContent = text;
            }
            const frame = figure.getBoundingClientRect();
            const { width, height } = readout.getBoundingClientRect();
            const left = Math.min(x - frame.left - width / 2, frame.width - width);
            const above = box.top - frame.top - height - 6;
            const top = above < 0 ? box.bottom - frame.top + 6 : above;
            readout.style.translate = `${Math.max(0, left)}px ${top}px`;
        }

        function hide() {
            shown?.classList.remove("shown");
            shown = null;
            readout.textContent = "";
        }

        for (const svg of figure.querySelectorAll(":scope > svg")) {
            const groups = [...svg.querySelectorAll(".hover > g")];
            const series = groups.map(group => [...group.children]);
            if (series.length === 0) {
                continue;
            }
            const texts = new Map();
            for (const target of series.flat()) {
                const title = target.querySelector("title");
                texts.set(target, title.textContent);
                title.remove();
            }

            function show(target, x) {
                if (target !== shown) {
                    hide();
                    shown = target;
                    target.classList.add("shown");
                }
                say(texts.get(target), target.getBoundingClientRect(), x);
            }

            function point({ clientX, clientY }) {
                let nearest = null;
                for (const target of series.flat()) {
                    const box = target.getBoundingClientRect();
                    const { away, inside } = distance(box, clientX, clientY);
                    const nearer =
                        nearest === null ||
                        away < nearest.away ||
                        (away === nearest.away && inside < nearest.inside);
                    if (away <= REACH && nearer) {
                        nearest = { target, away, inside };
                    }
                }
                if (nearest !== null) {
                    show(nearest.target, clientX);
                } else {
                    hide();
                }
            }

            // Where a key leads to from what is shown; null if it is no key of ours.
            function walk(key) {
                const row = series.findIndex(one => one.includes(shown));
                if (row < 0) {
                    return key.startsWith("Arrow") || key === "Home" ? series[0][0] : null;
                }
                const here = series[row];
                const place = here.indexOf(shown);
                const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
                if (key === "Home" || key === "End") {
                    return here.at(key === "Home" ? 0 : -1);
                }
                if (step === undefined) {
                    return null;
                }
                if (series.length === 1 || key === "ArrowLeft" || key === "ArrowRight") {
                    return here[place + step] ?? shown;
                }
                const x = middle(shown.getBoundingClientRect());
                const off = target => Math.abs(middle(target.getBoundingClientRect()) - x);
                const other = series[row + step] ?? here;
                return other.reduce((a, b) => (off(b) < off(a) ? b : a));
            }

            svg.tabIndex = 0;
            svg.setAttribute("role", "application");
            svg.setAttribute("aria-roledescription", "chart");
            svg.addEventListener("pointermove", event => {
                if (event.pointerType !== "touch") {
                    point(event);
                }
            });
            svg.addEventListener("pointerleave", event => {
                if (event.pointerType !== "touch") {
                    hide();
                }
            });
            svg.addEventListener("click", point);
            svg.addEventListener("focus", () => {
                if (svg.matches(":focus-visible") && shown === null) {
                    const { left, right, top } = svg.getBoundingClientRect();
                    const edge = { left, right, top, bottom: top };
                    say("The arrow keys walk through the values.", edge);
                }
            });
            svg.addEventListener("blur", hide);
            svg.addEventListener("keydown", event => {
                if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
                    return;
                }
                const target = walk(event.key);
                if (target !== null) {
                    show(target);
                } else if (event.key === "Escape" && readout.textContent !== "") {
                    hide();
                } else {
                    return;
                }
                event.preventDefault();
                event.stopPropagation();
            });
        }
        figure.append(readout);
    }

    // What scrolls sideways is reachable by keyboard while it does; tables are named for
    // screen readers.
    function watchScrolling(wrapper) {
        const caption = wrapper.querySelector("caption")?.textContent.trim();
        const isTable = wrapper.querySelector("table") !== null;
        const tables = [...document.querySelectorAll("main table")];
        const name = caption || `Table ${tables.indexOf(wrapper.querySelector("table")) + 1}`;
        const update = () => {
            const scrolls = wrapper.scrollWidth > wrapper.clientWidth;
            wrapper.toggleAttribute("data-scrolls", scrolls);
            if (scrolls) {
                wrapper.tabIndex = 0;
            } else {
                wrapper.removeAttribute("tabindex");
            }
            if (scrolls && isTable) {
                wrapper.setAttribute("role", "region");
                wrapper.setAttribute("aria-label", name);
            } else {
                wrapper.removeAttribute("role");
                wrapper.removeAttribute("aria-label");
            }
        };
        update();
        document.fonts.ready.then(update);
        new ResizeObserver(update).observe(wrapper);
    }

    // Past the table of contents, which comes first.
    function offerToSkip() {
        const link = document.createElement("a");
        link.className = "skip";
        link.href = "#mdbook-content";
        link.textContent = "Skip to the page";
        document.body.prepend(link);
    }

    // mdBook's switch for the table of contents has a label, which the Tab key does not reach.
    function makeButton(holder) {
        holder.setAttribute("role", "button");
        holder.tabIndex = 0;
        holder.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                holder.querySelector("label").click();
            }
        });
    }

    // Without a font for Japanese, all its characters are the same box.
    function hasJapanese(element) {
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = `20px ${getComputedStyle(element).fontFamily}`;
        const [first, second] = ["日", "語"].map(character => {
            pen.clearRect(0, 0, 30, 30);
            pen.fillText(character, 0, 24);
            return pen.getImageData(0, 0, 30, 30).data.join();
        });
        return first !== second;
    }

    window.workbook = {
        keyOf, recall, remember, forget, element, inCode, button, watchScrolling, saveAs,
    };

    offerToSkip();
    const japanese = document.querySelector("main :lang(ja)");
    if (japanese !== null && !hasJapanese(japanese)) {
        document.documentElement.classList.add("lacks-japanese");
    }
    makeButton(document.getElementById("mdbook-sidebar-toggle"));
    document.querySelectorAll("main figure.chart").forEach(showValues);
    document
        .querySelectorAll("main .table, main .table-wrapper, main pre > code")
        .forEach(watchScrolling);

    // A link to what is inside a fold opens it, in browsers that do not by themselves.
    function openTarget() {
        document.querySelector(":target")?.closest("details")?.setAttribute("open", "");
    }
    addEventListener("hashchange", openTarget);
    openTarget();

    // mdBook turns the page on the left and right arrow keys, also while they scroll a
    // focused table or listing.
    document.querySelector("main")?.addEventListener("keydown", event => {
        const scrolls = event.target.scrollWidth > event.target.clientWidth;
        if (scrolls && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
            event.stopPropagation();
        }
    });
})();

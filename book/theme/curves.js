// Curves that readers draw: where values lie on a chart's axes, and rings over some of its x
// values that are moved by mouse, finger or arrow keys. The measured curve is in the page's
// data, and in its picture only once it is revealed.

"use strict";

(() => {
    const { element } = window.workbook;

    const SVG = "http://www.w3.org/2000/svg";

    function svgElement(name, attributes) {
        const element = document.createElementNS(SVG, name);
        for (const [key, value] of Object.entries(attributes)) {
            element.setAttribute(key, value);
        }
        return element;
    }

    // The pixel of `value` on the value axis of `svg`, or on the other (`cross`), which share of the
    // axis that is, and whether `value` lies below (-1) or above (1) the axis, where it is moved to
    // the end.
    function locate(svg, value, axis = "value") {
        const of = end => svg.dataset[`${axis}${end}`];
        const along = of("Scale") === "linear" ? Number : Math.log10;
        const [low, high] = [along(Number(of("Min"))), along(Number(of("Max")))];
        const exact = (along(value) - low) / (high - low);
        const beyond = exact > 1 ? 1 : exact >= 0 ? 0 : -1;
        const share = beyond > 0 ? 1 : beyond < 0 ? 0 : exact;
        const start = Number(of("Start"));
        return { pixel: start + share * (Number(of("End")) - start), share, beyond };
    }

    // Into so many steps an axis is divided; none is at its lower end, where there may be a 0.
    const STEPS = 200;

    const KEYS = {
        ArrowUp: 1,
        ArrowRight: 1,
        ArrowDown: -1,
        ArrowLeft: -1,
        PageUp: STEPS / 10,
        PageDown: -STEPS / 10,
        Home: -STEPS,
        End: STEPS,
        Enter: 0,
        " ": 0,
    };

    // Lets the reader of a prediction draw; `input` has the values as soon as all are there.
    function drawOn(section, input) {
        const { at, given, curve, unit } = section.dataset;
        const scale = Number(section.dataset.scale);
        const places = JSON.parse(at);
        const known = JSON.parse(given);
        const sketch = section.querySelector(".sketch");
        const values = places.map(() => valueAt(STEPS / 2));
        const placed = places.map(() => false);
        const pictures = [...sketch.querySelectorAll("svg")].map(picture);
        input.value = ""; // browsers remember it

        function valueAt(step) {
            const { valueScale, valueMin, valueMax } = sketch.querySelector("svg").dataset;
            const [along, back] =
                valueScale === "linear" ? [Number, Number] : [Math.log10, power => 10 ** power];
            const [low, high] = [along(Number(valueMin)), along(Number(valueMax))];
            return Number((back(low + (step / STEPS) * (high - low)) / scale).toPrecision(3));
        }

        const dot = (svg, x, y) => [locate(svg, x, "cross").pixel, locate(svg, y).pixel];

        function picture(svg) {
            const mine = svgElement("g", { class: "mine" });
            const line = svgElement("path", { class: "line" });
            const rings = places.map(([, label], n) => {
                const ring = svgElement("g", {
                    class: "ring",
                    role: "slider",
                    tabindex: 0,
                    "aria-label": label,
                    "aria-orientation": "vertical",
                    "aria-valuemin": 1,
                    "aria-valuemax": STEPS,
                });
                ring.append(
                    svgElement("circle", { class: "reach", r: 22 }),
                    svgElement("circle", { r: 7 }),
                    svgElement("text", { y: -14, "text-anchor": "middle", "aria-hidden": "true" }),
                );
                listen(svg, ring, n);
                return ring;
            });
            mine.append(line, ...rings);
            svg.append(mine);
            svg.setAttribute("role", "group");
            return { svg, line, rings };
        }

        function listen(svg, ring, n) {
            let grip = null; // where the pointer is above the value that it took hold of
            const stepOf = ({ clientY }) => {
                const { top, height } = svg.getBoundingClientRect();
                const { valueStart, valueEnd } = svg.dataset;
                const y = ((clientY - top) / height) * svg.viewBox.baseVal.height;
                return (STEPS * (y - Number(valueStart))) / (Number(valueEnd) - Number(valueStart));
            };
            // A finger on a ring moves it, not the page: `touch-action` is not for parts of SVG.
            ring.addEventListener("touchstart", event => event.preventDefault());
            ring.addEventListener("pointerdown", event => {
                grip = stepOf(event) - step(n);
                ring.setPointerCapture(event.pointerId);
                ring.focus({ preventScroll: true });
                move(n, step(n));
            });
            ring.addEventListener("pointermove", event => {
                if (ring.hasPointerCapture(event.pointerId)) {
                    move(n, stepOf(event) - grip);
                }
            });
            ring.addEventListener("keydown", event => {
                const by = KEYS[event.key];
                if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) {
                    return;
                }
                move(n, step(n) + by);
                event.preventDefault();
                event.stopPropagation(); // mdBook would turn the page
            });
        }

        const step = n => Math.round(STEPS * locate(pictures[0].svg, values[n] * scale).share);

        function move(n, to) {
            const next = Math.min(STEPS, Math.max(1, Math.round(to)));
            values[n] = next === step(n) ? values[n] : valueAt(next);
            placed[n] = true;
            input.value = placed.every(Boolean) ? values.join(", ") : "";
            draw();
        }

        function draw() {
            const points = [
                ...known.map(([x, y]) => ({ x, y, isKnown: true })),
                ...places.map(([x], n) => ({ x, y: values[n] * scale, isPlaced: placed[n] })),
            ].sort((a, b) => a.x - b.x);
            // What is known is drawn already; what is not placed yet is on no curve.
            const joins = (a, b) =>
                (a.isPlaced || b.isPlaced) && [a, b].every(end => end.isPlaced || end.isKnown);
            for (const { svg, line, rings } of pictures) {
                const path = points.map((point, n) => {
                    const isJoined = n > 0 && joins(points[n - 1], point);
                    return (isJoined ? "L" : "M") + dot(svg, point.x, point.y);
                });
                line.setAttribute("d", path.join(""));
                rings.forEach((ring, n) => {
                    const text = [values[n].toLocaleString("en", { maximumSignificantDigits: 3 }), unit];
                    const said = text.join(["%", "×"].includes(unit) ? "" : "\u00a0");
                    const [x, y] = dot(svg, places[n][0], values[n] * scale);
                    ring.setAttribute("transform", `translate(${x} ${y})`);
                    ring.setAttribute("aria-valuenow", step(n));
                    ring.setAttribute("aria-valuetext", placed[n] ? said : `${said}, not placed yet`);
                    ring.classList.toggle("placed", placed[n]);
                    ring.lastChild.textContent = said;
                });
            }
        }

        draw();
        return {
            focus: () =>
                pictures.find(({ svg }) => svg.checkVisibility())?.rings[0].focus(),
            // Draws what was kept.
            show(kept) {
                kept.forEach((value, n) => { values[n] = value; });
                placed.fill(true);
                draw();
            },
            // Draws the measured curve, behind the reader's.
            reveal() {
                if (sketch.querySelector(".key") !== null) {
                    return;
                }
                for (const { svg, line } of pictures) {
                    const path = JSON.parse(curve).map(([x, y]) => dot(svg, x, y)).join("L");
                    line.before(svgElement("path", { class: "measured", d: `M${path}` }));
                }
                const key = element("p", "", { class: "key" });
                key.append(
                    element("span", "measured", { class: "measured" }),
                    element("span", "drawn by you", { class: "mine" }),
                );
                sketch.append(key);
            },
        };
    }

    window.workbook.curves = { svgElement, locate, drawOn };
})();

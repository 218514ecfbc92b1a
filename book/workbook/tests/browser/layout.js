// What is wrong with the layout of the page, as a list of sentences. Evaluated in the
// page by ../browser.rs.
(() => {
    const problems = [];
    const width = document.documentElement.clientWidth;
    const main = document.querySelector("main");

    // Folded figures are looked at, too.
    for (const details of main.querySelectorAll("details:has(figure)")) {
        details.open = true;
    }

    const quote = text => `“${text.trim().replace(/\s+/g, " ").slice(0, 60)}”`;
    const isShown = element => element.checkVisibility({ visibilityProperty: true });

    // The page itself, and the column that mdBook lets scroll, fit the window.
    for (const element of [document.documentElement, document.body, main.parentElement, main]) {
        if (element.scrollWidth > element.clientWidth) {
            problems.push(
                `${element.localName} is ${element.scrollWidth} px wide in ` +
                    `${element.clientWidth} px`,
            );
        }
    }

    // Text and controls lie inside the window, unless a wrapper that does lets the
    // reader scroll to them.
    const scroller = element => {
        for (let at = element; at !== main && at !== null; at = at.parentElement) {
            if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) {
                return at;
            }
        }
        return null;
    };
    const outside = box => box.width > 0 && (box.left < -1 || box.right > width + 1);
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (node.data.trim() === "" || !isShown(parent)) {
            continue;
        }
        const range = document.createRange();
        range.selectNodeContents(node);
        const wrapper = scroller(parent);
        const boxes = wrapper ? [wrapper.getBoundingClientRect()] : [...range.getClientRects()];
        if (boxes.some(outside)) {
            problems.push(`${quote(node.data)} leaves the window`);
        }
    }
    for (const control of main.querySelectorAll("input, button, img, svg")) {
        if (isShown(control) && !scroller(control) && outside(control.getBoundingClientRect())) {
            problems.push(`a ${control.localName} leaves the window`);
        }
    }

    // An option of a command is not broken where it would fit into a line: `--` alone says nothing.
    for (const code of main.querySelectorAll(":not(pre) > code")) {
        for (const { word, lines, width } of wordsOf(code)) {
            if (word.startsWith("--") && lines > 1 && width < code.clientWidth) {
                problems.push(`${word} is broken in ${quote(code.textContent)}`);
            }
        }
    }

    // A head names what is below or beside it, and its words are whole; names in code may be long.
    for (const head of main.querySelectorAll("th")) {
        for (const { word, lines } of wordsOf(head)) {
            if (/^[A-Z]?[a-z]+[.,]?$/.test(word) && lines > 1) {
                problems.push(`the head ${word} is broken`);
            }
        }
        if (head.textContent.trim() === "") {
            problems.push(`a head without text: ${head.outerHTML}`);
        }
    }

    // Each word, on how many lines it stands, and how wide it is.
    function wordsOf(element) {
        const words = [];
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
            for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
                const range = document.createRange();
                range.setStart(node, index);
                range.setEnd(node, index + word.length);
                const boxes = [...range.getClientRects()];
                words.push({
                    word,
                    lines: new Set(boxes.map(box => Math.round(box.top))).size,
                    width: boxes.reduce((sum, box) => sum + box.width, 0),
                });
            }
        }
        return words;
    }

    // A label names a control; that of a slider's value would be taken first.
    for (const label of main.querySelectorAll("label")) {
        if (!label.control?.matches("input, select, textarea")) {
            problems.push(`the label ${quote(label.textContent)} names no control`);
        }
    }

    // Every figure shows one drawing, with its text inside, apart and large enough.
    for (const figure of main.querySelectorAll("figure:is(.chart, .drawing)")) {
        const id = figure.id || "a figure without id";
        const drawings = [...figure.querySelectorAll("svg")].filter(
            svg => isShown(svg) && svg.getBoundingClientRect().height > 0,
        );
        if (drawings.length !== 1) {
            problems.push(`${id} shows ${drawings.length} drawings`);
        }
        for (const svg of drawings) {
            problems.push(...drawingProblems(svg).map(text => `${id}: ${text}`));
        }
    }

    function drawingProblems(svg) {
        const found = [];
        const frame = svg.getBoundingClientRect();
        if (frame.width < 280 || frame.height < 120) {
            found.push(`only ${frame.width} × ${frame.height} px large`);
        }
        const texts = [...svg.querySelectorAll("text")].filter(isShown);
        if (texts.length === 0) {
            found.push("has no text");
        }
        const boxes = texts.map(text => text.getBoundingClientRect());
        texts.forEach((text, i) => {
            const box = boxes[i];
            const { a, b } = text.getScreenCTM();
            const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
            if (size < 10) {
                found.push(`${quote(text.textContent)} is set in ${size.toFixed(1)} px`);
            }
            if (text.textContent.endsWith("…")) {
                found.push(`${quote(text.textContent)} is cut short`);
            }
            const slack = trim(box) + 1;
            if (
                box.left < frame.left - slack ||
                box.right > frame.right + slack ||
                box.top < frame.top - slack ||
                box.bottom > frame.bottom + slack
            ) {
                found.push(`${quote(text.textContent)} leaves the drawing`);
            }
            for (let j = 0; j < i; j += 1) {
                if (collide(box, boxes[j])) {
                    found.push(
                        `${quote(text.textContent)} covers ${quote(texts[j].textContent)}`,
                    );
                }
            }
        });
        return found;
    }

    // Boxes of text include the space above and below the letters, so a little overlap
    // does not show.
    function trim(box) {
        return 0.2 * Math.min(box.width, box.height);
    }

    function collide(a, b) {
        const slack = trim(a) + trim(b) + 1;
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        return across > slack && down > slack;
    }

    return problems;
})()

// Which colours are too faint on the page, as a list of sentences.
// Evaluated in the page by ../browser.rs, once in each of mdBook's themes.
(() => {
    const problems = [];
    const main = document.querySelector("main");
    const pen = document.createElement("canvas").getContext("2d", {
        willReadFrequently: true,
    });

    // The colour that is seen when `colors` are painted over each other.
    const known = new Map();
    function seen(colors) {
        const key = colors.join();
        if (!known.has(key)) {
            pen.clearRect(0, 0, 1, 1);
            for (const color of colors) {
                pen.fillStyle = color;
                pen.fillRect(0, 0, 1, 1);
            }
            known.set(key, [...pen.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(key);
    }

    function luminance(rgba) {
        const [red, green, blue] = rgba.slice(0, 3).map(value => {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    }

    // The contrast ratio of WCAG 2, between `color` and what lies under `element`.
    function contrast(color, element) {
        const layers = [];
        for (let at = element; at !== null; at = at.parentElement) {
            layers.unshift(getComputedStyle(at).backgroundColor);
        }
        const pair = [luminance(seen([...layers, color])), luminance(seen(layers))];
        return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    }

    function require(least, what, color, element) {
        const ratio = contrast(color, element);
        if (ratio < least) {
            problems.push(`${what}: ${color} has a contrast of ${ratio.toFixed(2)}`);
        }
    }

    // The charts' colours: all of them, but for the grid, are used for labels too.
    const probe = document.createElement("span");
    main.append(probe);
    const names = ["ink", "muted", "peak", "claim", "model", 1, 2, 3, 4, 5, 6];
    for (const name of names) {
        probe.style.color = `var(--chart-${name})`;
        require(4.5, `--chart-${name}`, getComputedStyle(probe).color, main);
    }
    probe.remove();

    // The book's title is outside of the page, and small on a phone.
    const title = document.querySelector(".menu-title");
    require(4.5, "the book's title", getComputedStyle(title).color, title);

    // All text but code, whose colours are mdBook's and its highlighter's.
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const parent = node.parentElement;
        const text = node.data.trim();
        if (text !== "" && !parent.closest("svg, pre, code") && parent.checkVisibility()) {
            require(4.5, `“${text.slice(0, 40)}”`, getComputedStyle(parent).color, parent);
        }
    }
    for (const control of main.querySelectorAll(".prediction input, .prediction button")) {
        const edge = getComputedStyle(control).borderTopColor;
        require(3, `the edge of a ${control.localName}`, edge, control.parentElement);
    }

    return problems;
})()

// A source that the reader edits: a plain text area, with the numbers of its lines, marks at lines
// with a message, and what each line moved beside it.
"use strict";

(() => {
    const { element } = window.workbook;
    // Characters that can be typed or pasted: more than can be compiled, so that no source is run of
    // which a part was left out, and few enough for a browser to show at once.
    const MOST = 200_000;

    // An editor of a file, or of its lines from `first` on; `changed` is called after each change,
    // `run` on Ctrl+Enter.
    function sourceOf(file, { changed, run, first = 1 }) {
        const text = element("textarea", "", {
            "aria-label": `Source of ${file}`,
            autocapitalize: "off",
            autocomplete: "off",
            autocorrect: "off",
            maxlength: MOST,
            spellcheck: "false",
            wrap: "off",
        });
        const [numbers, counts] = ["numbers", "counts"].map(name => {
            const column = element("div", "", { class: name, "aria-hidden": "true" });
            column.append(element("div"));
            return column;
        });
        const box = element("div", "", { class: "source" });
        box.append(numbers, text, counts);
        let lines = 0;

        function follow() {
            const now = text.value.split("\n").length;
            if (now !== lines) {
                lines = now;
                text.rows = lines; // as high as the window has room for
                const all = Array.from({ length: lines }, (_, n) => n + first);
                numbers.firstChild.textContent = all.join("\n");
            }
            scroll();
        }

        function scroll() {
            for (const column of [numbers, counts]) {
                column.firstChild.style.translate = `0 ${-text.scrollTop}px`;
            }
        }

        function clear() {
            numbers.querySelectorAll("mark").forEach(mark => mark.remove());
            counts.firstChild.replaceChildren();
            counts.hidden = true;
        }

        const has = line => line >= first && line < first + lines;

        // Puts something beside a line, which is counted as the file's are.
        function beside(column, line, made) {
            made.style.insetBlockStart = `${line - first}lh`;
            column.firstChild.append(made);
        }

        // The new line begins as deep as the one that it follows.
        function breakLine() {
            const before = text.value.slice(0, text.selectionStart);
            const [depth] = before.slice(before.lastIndexOf("\n") + 1).match(/^[ \t]*/u);
            // Only this can be undone by the reader, where a browser knows it still.
            if (!document.execCommand("insertText", false, `\n${depth}`)) {
                text.setRangeText(`\n${depth}`, text.selectionStart, text.selectionEnd, "end");
                text.dispatchEvent(new Event("input"));
            }
        }

        text.addEventListener("input", () => {
            follow();
            clear();
            changed();
        });
        text.addEventListener("scroll", scroll);
        text.addEventListener("keydown", event => {
            const { key, ctrlKey, metaKey, shiftKey, altKey, isComposing } = event;
            if (key === "Enter" && (ctrlKey || metaKey)) {
                event.preventDefault();
                run();
            } else if (key === "Enter" && !shiftKey && !altKey && !isComposing) {
                event.preventDefault();
                breakLine();
            }
        });
        clear();

        return {
            box,
            clear,
            has,
            get value() {
                return text.value;
            },
            set value(value) {
                text.value = value;
                follow();
                clear();
            },
            // Says that there is something to read about a line.
            mark(line, kind) {
                if (has(line)) {
                    beside(numbers, line, element("mark", String(line), { class: kind }));
                }
            },
            // Says what lines moved: pairs of a line and words.
            count(lines) {
                const told = lines.filter(([line, said]) => has(line) && said !== "");
                counts.hidden = told.length === 0;
                counts.style.inlineSize = `${Math.max(...told.map(([, { length }]) => length)) + 2}ch`;
                for (const [line, said] of told) {
                    const isMore = said.includes("×");
                    beside(counts, line, element("span", said, isMore ? { class: "more" } : {}));
                }
            },
            // Puts the cursor at the start of a line, or into this column of it.
            goTo(line, column = 1) {
                const before = text.value.split("\n").slice(0, line - first);
                const start = before.reduce((sum, { length }) => sum + length + 1, 0);
                const place = Math.min(start + column - 1, text.value.length);
                text.focus({ preventScroll: true });
                text.setSelectionRange(place, place);
                const height = text.scrollHeight / lines;
                text.scrollTop = (line - first) * height - text.clientHeight / 2;
                // Not below the bar above the page, and with some lines around it.
                const at = text.getBoundingClientRect().top + (line - first) * height - text.scrollTop;
                if (at < innerHeight / 6 || at > innerHeight * 5 / 6) {
                    scrollBy(0, at - innerHeight / 2);
                }
            },
        };
    }

    // Sources in addresses: compressed, and of a bounded size when they are read.

    async function packed(text) {
        const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        const characters = Array.from(bytes, byte => String.fromCharCode(byte)).join("");
        return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/u, "");
    }

    // The text, or as much of it as can be read.
    async function unpacked(text, most) {
        let found = "";
        try {
            const whole = text.length % 4 === 1 ? text.slice(0, -1) : text;
            const characters = atob(whole.replaceAll("-", "+").replaceAll("_", "/"));
            const bytes = Uint8Array.from(characters, c => c.charCodeAt(0));
            const unpacking = new DecompressionStream("deflate-raw");
            const reader = new Blob([bytes]).stream().pipeThrough(unpacking).getReader();
            const decoder = new TextDecoder();
            while (found.length <= most) {
                const { done, value } = await reader.read();
                if (done) {
                    return found;
                }
                found += decoder.decode(value, { stream: true });
            }
            await reader.cancel();
        } catch {
            // It was cut short, or changed.
        }
        return found;
    }

    window.workbook.sources = { sourceOf, packed, unpacked };
})();

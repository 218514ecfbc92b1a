// What a word of the glossary means, beside its first use on a page: on hover, on focus, and
// on a tap, after which the next one follows the link. Escape hides it. Without this script
// the words are links to the glossary.

"use strict";

(() => {
    const terms = document.querySelectorAll("main a.term");
    if (terms.length === 0) {
        return;
    }
    const tip = document.createElement("div");
    tip.className = "definition";
    tip.id = "definition";
    tip.setAttribute("role", "tooltip");
    tip.hidden = true;
    document.body.append(tip);
    let shown = null;
    let leaving = 0;

    // Below the word's first line, or above where there is no room below; in the window.
    function place(term) {
        const gap = 6;
        const [word] = term.getClientRects();
        const { width, height } = tip.getBoundingClientRect();
        const { clientWidth, clientHeight } = document.documentElement;
        const left = Math.max(8, Math.min(word.left, clientWidth - width - 8));
        const below = word.bottom + gap + height < clientHeight;
        const top = below ? word.bottom + gap : word.top - gap - height;
        tip.style.left = `${left + scrollX}px`;
        tip.style.top = `${top + scrollY}px`;
    }

    function show(term) {
        clearTimeout(leaving);
        if (shown === term) {
            return;
        }
        hide();
        shown = term;
        tip.textContent = term.dataset.definition;
        tip.hidden = false;
        term.setAttribute("aria-describedby", tip.id);
        place(term);
    }

    function hide() {
        clearTimeout(leaving);
        shown?.removeAttribute("aria-describedby");
        shown = null;
        tip.hidden = true;
    }

    // Time enough to move the pointer onto the definition.
    function leave() {
        leaving = setTimeout(hide, 200);
    }

    for (const term of terms) {
        term.addEventListener("pointerenter", event => {
            if (event.pointerType !== "touch") {
                show(term);
            }
        });
        term.addEventListener("pointerleave", event => {
            if (event.pointerType !== "touch") {
                leave();
            }
        });
        term.addEventListener("focus", () => {
            if (term.matches(":focus-visible")) {
                show(term);
            }
        });
        term.addEventListener("blur", hide);
        term.addEventListener("click", event => {
            if (event.pointerType === "touch" && shown !== term) {
                event.preventDefault();
                show(term);
            }
        });
    }
    tip.addEventListener("pointerenter", () => clearTimeout(leaving));
    tip.addEventListener("pointerleave", leave);
    document.addEventListener("keydown", event => {
        if (event.key === "Escape") {
            hide();
        }
    });
    document.addEventListener("pointerdown", event => {
        if (shown !== null && !event.target.closest?.("a.term, .definition")) {
            hide();
        }
    });
})();

// The calculator of a model's memory. Its formulas are experiments/shared/budget/src/formulas.rs,
// which the page has as window.budget. Without this script it has the table it opens with.
"use strict";

(() => {
    const TIMES_GB = 1e9;

    // The bytes of each part on one GPU, or why there are none. The formulas ask what a plan has
    // chosen for numbers.
    function budgetOf(model, plan, choices) {
        const chosen = { ...plan };
        for (const [choice, all] of Object.entries(choices)) {
            const numbers = Object.entries(all[plan[choice]]);
            chosen[choice] = Object.fromEntries(numbers.map(([name, n]) => [name, () => n]));
        }
        return window.budget.contradiction(chosen) || window.budget.budget(model, chosen);
    }

    // Three significant digits, as elsewhere in the book.
    const inGb = bytes =>
        (bytes / TIMES_GB).toLocaleString("en", {
            minimumSignificantDigits: 3,
            maximumSignificantDigits: bytes < 1000 * TIMES_GB ? 3 : 21,
            maximumFractionDigits: 0,
            roundingPriority: bytes < 1000 * TIMES_GB ? "auto" : "lessPrecision",
        });

    function planOf(form) {
        const plan = {};
        for (const { name, type, value, checked } of form.querySelectorAll("input, select")) {
            if (type === "range") {
                plan[name] = 2 ** Number(value);
            } else {
                plan[name] = type === "checkbox" ? checked : value;
            }
        }
        plan.lora_rank = Number(plan.lora_rank);
        return plan;
    }

    const several = (count, one) =>
        `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

    function fits(total, cards) {
        const names = cards
            .filter(({ gigabytes }) => total <= gigabytes * 0.9 * TIMES_GB)
            .map(({ name }) => name);
        return names.length === 0
            ? "Fits on none of the cards."
            : `Fits, with a tenth to spare, on ${names.join(", ")}.`;
    }

    function show(section, { models, cards, choices }) {
        const form = section.querySelector("form");
        const plan = planOf(form);
        const said = section.querySelector(".fits");
        form.querySelector(".training").disabled = plan.task !== "training";
        for (const slider of form.querySelectorAll("input[type=range]")) {
            const value = plan[slider.name].toLocaleString("en");
            slider.setAttribute("aria-valuetext", value);
            slider.parentElement.querySelector("b").textContent = value;
        }
        const model = models.find(({ name }) => name === plan.model);
        const budget = budgetOf(model, plan, choices);
        section.querySelector("table").hidden = typeof budget === "string";
        if (typeof budget === "string") {
            said.textContent = budget;
            return;
        }
        const { host, ...parts } = budget;
        const total = Object.values(parts).reduce((a, b) => a + b, 0);
        const values = {
            ...parts,
            "working copies": parts.working,
            "KV cache": parts.kv_cache,
            total,
            "host memory": host,
        };
        for (const row of section.querySelectorAll("tbody tr")) {
            const bytes = values[row.dataset.part];
            row.hidden = bytes === 0;
            row.cells[1].textContent = inGb(bytes);
            const bar = row.querySelector(".bar");
            if (bar !== null) {
                bar.style.width = `${(100 * bytes) / total}%`;
            }
        }
        const [of, whose] =
            plan.gpus === 1
                ? ["One GPU", ""]
                : [`Each of ${plan.gpus} GPUs`, plan.task === "training" ? " on each" : " in all"];
        section.querySelector("caption").textContent =
            `${of}: ${plan.model}, ${plan.task}, ${several(plan.batch, "sequence")} of ` +
            `${several(plan.tokens, "token")}${whose}.`;
        said.textContent = `${inGb(total)} GB. ${fits(total, cards)}`;
    }

    for (const section of document.querySelectorAll("section.budget")) {
        const data = JSON.parse(section.dataset.budget);
        const form = section.querySelector("form");
        section.budgetOf = (model, plan) => budgetOf(model, plan, data.choices); // for tests
        form.hidden = false;
        form.addEventListener("submit", event => event.preventDefault());
        form.addEventListener("input", () => show(section, data));
        // mdBook turns the page on the arrow keys, which move a slider here.
        form.addEventListener("keydown", event => event.stopPropagation());
        show(section, data);
    }
})();

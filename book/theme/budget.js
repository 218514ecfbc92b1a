// The calculator of a model's memory. Its formulas are those of experiments/shared/budget,
// and a test compares the two. Without this script the page has the table it opens with.
"use strict";

(() => {
    const TIMES_GB = 1e9;

    // Parameters, as crate `budget`, model.rs.

    function matrices({ hidden, heads, kv_heads, head_dim, intermediate, gated }) {
        return [
            [hidden, heads * head_dim, 2],
            [hidden, kv_heads * head_dim, 2],
            [hidden, intermediate, gated ? 2 : 1],
            [intermediate, hidden, 1],
        ];
    }

    const sum = numbers => numbers.reduce((a, b) => a + b, 0);
    const ofLayer = model => sum(matrices(model).map(([rows, columns, n]) => rows * columns * n));
    const ofMatrices = model => model.only_parameters + model.layers * ofLayer(model);
    const ofModel = model =>
        ofMatrices(model) +
        (model.tied ? 1 : 2) * model.vocabulary * model.hidden +
        (2 * model.layers + 1) * model.hidden;
    const ofAdapters = (model, rank) =>
        model.layers * rank * sum(matrices(model).map(([rows, columns, n]) => (rows + columns) * n));

    // Bytes, as choices.rs, activations.rs and lib.rs.

    const elementBytes = ({ precision }) => (precision === "fp32" ? 4 : 2);
    const weightBytes = ({ precision }) => (["mixed", "bf16"].includes(precision) ? 2 : 4);

    function stateBytes({ optimiser, precision }) {
        const moment = precision === "bf16" ? 2 : 4;
        const moments = { adamw: 2 * moment, "adamw-8bit": 2, momentum: moment, sgd: 0 };
        return (precision === "mixed" ? 4 : 0) + moments[optimiser];
    }

    function stored(model, plan) {
        const element = elementBytes(plan);
        const bits = { no: 8 * element, "8bit": 8, "4bit": 4.127 }[plan.quantised];
        return (ofMatrices(model) * bits) / 8 + (ofModel(model) - ofMatrices(model)) * element;
    }

    function working(model, plan) {
        if (plan.sharding === "zero3" && plan.gpus > 1) {
            return 2 * ofLayer(model) * elementBytes(plan);
        }
        const casts = plan.precision === "autocast" && plan.lora_rank === 0;
        return casts ? 2 * ofMatrices(model) : 0;
    }

    function activations(model, plan) {
        const { layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary } = model;
        const [element, residual] = [elementBytes(plan), weightBytes(plan)];
        const dropout = model.dropout ? 1 : 0;
        const rows = plan.batch * plan.tokens;
        const copies = matrices => (plan.precision === "autocast" ? matrices : 1);
        const into = model.gated ? 2 : 1;
        const attention = copies(3) * hidden + (heads + 2 * kv_heads) * head_dim + heads * head_dim;
        const feedForward = copies(into) * hidden + 2 * into * intermediate;
        const score =
            plan.attention === "flash" ? 4 : plan.tokens * (element + dropout * (1 + element));
        const layer =
            rows *
                (residual * 2 * hidden + element * (attention + feedForward) + dropout * 2 * hidden) +
            plan.batch * heads * plan.tokens * score;
        const last = vocabulary > 0 ? element * hidden + 4 * vocabulary : 0;
        const outside = rows * (residual * hidden + last);
        return plan.checkpointing
            ? layers * rows * residual * hidden + layer + outside
            : layers * layer + outside;
    }

    const empty = () => ({
        weights: 0,
        gradients: 0,
        optimiser: 0,
        working: 0,
        activations: 0,
        kv_cache: 0,
        host: 0,
    });

    function inference(model, plan) {
        const perToken =
            2 * model.layers * model.kv_heads * model.head_dim * elementBytes(plan);
        return {
            ...empty(),
            weights: stored(model, plan) / plan.gpus,
            kv_cache:
                (perToken * plan.tokens * plan.batch) /
                Math.min(plan.gpus, Math.max(model.kv_heads, 1)),
        };
    }

    function training(model, plan) {
        const adapts = plan.lora_rank > 0;
        const trained = adapts ? ofAdapters(model, plan.lora_rank) : ofModel(model);
        const stage = ["ddp", "zero1", "zero2", "zero3"].indexOf(plan.sharding);
        const divided = (bytes, from) => (stage >= from ? bytes / plan.gpus : bytes);
        const budget = {
            ...empty(),
            optimiser: divided(trained * stateBytes(plan), 1),
            gradients: divided(trained * weightBytes(plan), 2),
            weights: divided(trained * weightBytes(plan) + (adapts ? stored(model, plan) : 0), 3),
            working: working(model, plan),
            activations: activations(model, plan),
        };
        const moved = { nothing: [], optimiser: ["optimiser"], everything: ["optimiser", "weights"] };
        for (const part of moved[plan.offload]) {
            budget.host += budget[part];
            budget[part] = 0;
        }
        return budget;
    }

    // Why there is no budget, or null.
    function problem({ task, lora_rank, quantised, offload, sharding }) {
        if (task !== "training") {
            return null;
        }
        if (lora_rank === 0 && quantised !== "no") {
            return (
                "quantised: steps are smaller than what so few bits can tell: " +
                "train adapters beside them, with lora-rank"
            );
        }
        if (offload === "everything" && sharding !== "zero3") {
            return "offload: weights are moved out only where they are divided: add zero3";
        }
        return null;
    }

    // The bytes of each part on one GPU, or why there are none.
    function budgetOf(model, plan) {
        return problem(plan) ?? (plan.task === "training" ? training : inference)(model, plan);
    }

    // The page.

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

    function show(section, { models, cards }) {
        const form = section.querySelector("form");
        const plan = planOf(form);
        const said = section.querySelector(".fits");
        form.querySelector(".training").disabled = plan.task !== "training";
        for (const slider of form.querySelectorAll("input[type=range]")) {
            const value = plan[slider.name].toLocaleString("en");
            slider.setAttribute("aria-valuetext", value);
            slider.parentElement.querySelector("output").textContent = value;
        }
        const budget = budgetOf(models.find(({ name }) => name === plan.model), plan);
        section.querySelector("table").hidden = typeof budget === "string";
        if (typeof budget === "string") {
            said.textContent = budget;
            return;
        }
        const { host, ...parts } = budget;
        const total = sum(Object.values(parts));
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
        section.budgetOf = budgetOf; // for tests
        form.hidden = false;
        form.addEventListener("submit", event => event.preventDefault());
        form.addEventListener("input", () => show(section, data));
        // mdBook turns the page on the arrow keys, which move a slider here.
        form.addEventListener("keydown", event => event.stopPropagation());
        show(section, data);
    }
})();

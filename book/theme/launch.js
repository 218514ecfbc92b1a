// What to launch of a kernel that is edited in the page, in the words of `cargo workbook check`.
"use strict";

(() => {
    const { recall, remember, element, inCode } = window.workbook;

    // By their names in a request: what stands above, in, and below each.
    const FIELDS = [
        ["kernel", "Kernel", "the only one", "Its name, if the source has several."],
        ["grid", "Blocks", "64", "A number, or arithmetic: `ceil(n / 256)`. With commas, along x, y and z."],
        ["block", "Threads of a block", "256", "Likewise; 1,024 at most."],
        ["shared", "Bytes of shared memory", "0", "Only for `extern __shared__`."],
        [
            "arg", "Arguments, one a line", "in=f32[n]:ramp",
            "In the kernel's order. `in=f32[n]:ramp` is an array of n floats, 0, 1, 2, …; in " +
            "`out=f32[n]` nothing is written yet; `n` and `0.5f` are numbers.",
        ],
        [
            "set", "Sizes, one a line", "n=1000",
            "What the names in the other fields stand for. A second line `n=1001` runs it with that, too.",
        ],
    ];
    const LISTS = ["arg", "set"];

    // What the terminal's options are called here.
    function inFields(text) {
        const several = text.replace(/--set (\S+) --set ([^\s;,]+)/gu, "$1 and $2 in “Sizes”");
        return FIELDS.reduce(
            (said, [name, label]) => said.replaceAll(`--${name}`, `“${label.split(",")[0]}”`),
            several,
        );
    }

    // Fields that begin with a launch, or with what was kept under this key.
    function fieldsOf(launch, key) {
        const first = Object.fromEntries(
            FIELDS.map(([name]) => [name, [launch[name] ?? ""].flat().join("\n")]),
        );
        const inputs = {};
        const box = element("details");
        box.append(element("summary", "What to launch"));
        const inside = element("div", "", { class: "fields" });
        for (const [name, label, example, meaning] of FIELDS) {
            const isList = LISTS.includes(name);
            const id = `${key} ${name}`.replaceAll(" ", "-");
            const input = element(isList ? "textarea" : "input", "", {
                "aria-describedby": id,
                autocapitalize: "off",
                autocomplete: "off",
                name,
                placeholder: example,
                spellcheck: "false",
            });
            if (isList) {
                input.rows = 4;
            }
            const labelled = element("label", label);
            labelled.append(input);
            const said = element("small", "", { id });
            said.append(...inCode(meaning));
            const field = element("div");
            field.append(labelled, said);
            inside.append(field);
            inputs[name] = input;
        }
        box.append(inside);
        const texts = () =>
            Object.fromEntries(Object.entries(inputs).map(([name, { value }]) => [name, value]));
        function fill(all) {
            for (const [name, input] of Object.entries(inputs)) {
                input.value = typeof all[name] === "string" ? all[name] : first[name];
            }
        }
        function kept() {
            try {
                return JSON.parse(recall(key) ?? "{}");
            } catch {
                return {};
            }
        }
        fill(kept());
        box.addEventListener("input", () => remember(key, JSON.stringify(texts())));
        // What the workshop understands: nothing of what was left empty. Lists may be as at the
        // terminal, `--set n=32 --set n=31`.
        function options() {
            const all = Object.entries(texts()).map(([name, text]) => {
                const all = text.replaceAll(`--${name} `, "\n").split("\n");
                // A phone's keyboard puts spaces where none are wanted.
                const trim = line => (LISTS.includes(name) ? line.replace(/\s/gu, "") : line.trim());
                const lines = all.map(trim).filter(line => line !== "");
                return [name, LISTS.includes(name) ? lines : lines[0]];
            });
            return Object.fromEntries(all.filter(([, value]) => value !== undefined));
        }
        const show = () => (box.open = true);
        return { box, texts, fill, options, show };
    }

    Object.assign(window.workbook, { fieldsOf, inFields });
})();

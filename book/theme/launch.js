// What to launch of a kernel that is edited in the page, in the words of `cargo workbook check`.
"use strict";

(() => {
    const { recall, remember, element } = window.workbook;

    // By their names in a request.
    const FIELDS = [
        ["kernel", "Kernel", "the only one"],
        ["grid", "Blocks", "64"],
        ["block", "Threads of a block", "256"],
        ["shared", "Bytes of shared memory", "0"],
        ["arg", "Arguments, one a line", "in=f32[n]:ramp"],
        ["set", "Sizes, one a line", "n=1000"],
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
        for (const [name, label, example] of FIELDS) {
            const isList = LISTS.includes(name);
            const attributes = { autocapitalize: "off", autocomplete: "off", spellcheck: "false" };
            const input = element(isList ? "textarea" : "input", "", {
                ...attributes,
                name,
                placeholder: example,
            });
            if (isList) {
                input.rows = 4;
            }
            const labelled = element("label", label);
            labelled.append(input);
            inside.append(labelled);
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
                const lines = all.map(line => line.trim()).filter(line => line !== "");
                    return [name, LISTS.includes(name) ? lines : lines[0]];
            });
            return Object.fromEntries(all.filter(([, value]) => value !== undefined));
        }
        const show = () => (box.open = true);
        return { box, texts, fill, options, show };
    }

    Object.assign(window.workbook, { fieldsOf, inFields });
})();

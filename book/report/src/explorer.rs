//! Explorers, `{{explorer NAME}}`: the picture that one begins with, its task, and a form for its
//! knobs, which only `theme/explorer.js` shows. The crate `engine` has what they are.

use std::fmt::Write;
use std::path::Path;

use engine::explorer::{Explorer, Knob, Request, Shown, Values, show};
use record::hash::sha256;

use crate::html::{escape, prose};

/// The module that pages load, in `src/`.
const ENGINE: &str = "engine.js";

/// The figure. `src` has the engine, and `root` leads there from the page.
pub fn expand(explorer: &Explorer, src: &Path, root: &str) -> Result<String, String> {
    let name = explorer.name;
    let engine = std::fs::read(src.join(ENGINE))
        .map_err(|e| format!("src/{ENGINE}: {e}; `cargo workbook engine` makes it"))?;
    let version = sha256(engine);
    let request = Request { name: name.to_owned(), ..Request::default() };
    let Shown { said, wide, narrow } = show(&request)?;
    let mut form = String::new();
    explorer.knobs.iter().for_each(|knob| add(&mut form, knob));
    let [title, said] = [explorer.title, &said].map(escape);
    let [task, finding] = [explorer.task, explorer.finding].map(prose);
    Ok(format!(
        "<figure class=\"drawing explorer\" data-explorer=\"{name}\" \
         data-engine=\"{root}{ENGINE}?{}\">\n\
         <p class=\"task\">{task} <span class=\"still\">The knobs need JavaScript and WebAssembly; \
         this is how it begins.</span></p>\n\
         <form hidden aria-label=\"{title}\">{form}\
         <button type=\"reset\">Begin again</button></form>\n\
         {wide}{narrow}<p class=\"said\" role=\"status\">{said}</p>\n\
         <figcaption><details><summary>What there is to find</summary>{finding}</details>\
         </figcaption>\n</figure>\n",
        &version[..8],
    ))
}

fn add(form: &mut String, Knob { name, label, first, values }: &Knob) {
    let _ = match values {
        Values::Range(least, most) => write!(
            form,
            "<label>{label} <output>{first}</output><input type=\"range\" name=\"{name}\" \
             min=\"{least}\" max=\"{most}\" value=\"{first}\"></label>"
        ),
        Values::Choice(words) => {
            let option = |(word, label): &(&str, &str)| {
                let selected = if word == first { " selected" } else { "" };
                format!("<option value=\"{word}\"{selected}>{}</option>", escape(label))
            };
            let options: String = words.iter().map(option).collect();
            write!(form, "<label>{label} <select name=\"{name}\">{options}</select></label>")
        }
        Values::Text { examples, slider } => {
            let button = |text: &&str| {
                let text = escape(text);
                format!(
                    "<button type=\"button\" data-sets=\"{name}\" data-value=\"{text}\">\
                         {text}</button>"
                )
            };
            let buttons: String = examples.iter().map(button).collect();
            let slider = slider.map_or(String::new(), |(slider, after, least, most)| {
                format!(
                    "<label>{slider} <output>{least}</output><input type=\"range\" \
                     min=\"{least}\" max=\"{most}\" value=\"{least}\" data-sets=\"{name}\" \
                     data-after=\"{after}\"></label>"
                )
            });
            write!(
                form,
                "{slider}<label>{label} <input type=\"text\" name=\"{name}\" \
                 value=\"{first}\" spellcheck=\"false\" autocapitalize=\"off\" \
                 autocomplete=\"off\"></label><span class=\"examples\">{buttons}</span>"
            )
        }
    };
}

//! The search index of the finished book, smaller: without numbers, for nobody looks for
//! `54.2`, and with weights of three digits instead of seventeen.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// What mdBook writes before and after the index, which is JSON in a string of JavaScript.
const HEAD: &str = "window.search = Object.assign(window.search, JSON.parse('";
const TAIL: &str = "'));";

/// Takes the words that begin with a digit or a sign out of the index of the book in
/// `folder`, and rounds. The pages' text, from which results are quoted, stays whole.
pub fn slim(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("searchindex") && path.extension().is_some_and(|e| e == "js") {
            let script = std::fs::read_to_string(&path)?;
            let script = pruned(&script).with_context(|| path.display().to_string())?;
            std::fs::write(&path, script)?;
        }
    }
    Ok(())
}

fn pruned(script: &str) -> Result<String> {
    let quoted = script.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL));
    let quoted = quoted.context("this mdBook writes its search index in another way")?;
    let mut json = String::new();
    let mut escaped = false;
    for c in quoted.chars() {
        escaped = c == '\\' && !escaped;
        if !escaped {
            json.push(c);
        }
    }
    let mut index: Value = serde_json::from_str(&json)?;
    // The words are a tree of letters, whose nodes also have `docs` and `df`.
    let begins_a_word = |key: &str| key.starts_with(char::is_alphabetic);
    if let Some(fields) = index["index"]["index"].as_object_mut() {
        let trees = fields.values_mut().filter_map(|field| field["root"].as_object_mut());
        for tree in trees {
            tree.retain(|key, _| begins_a_word(key));
            tree.values_mut().for_each(round);
        }
    }
    let json = serde_json::to_string(&index)?;
    Ok(HEAD.to_owned() + &json.replace('\\', "\\\\").replace('\'', "\\'") + TAIL)
}

/// Rounds the weights of a word and of all that begin with it.
fn round(word: &mut Value) {
    match word {
        Value::Object(children) => children.values_mut().for_each(round),
        Value::Number(weight) => {
            let weight = weight.as_f64().filter(|weight| weight.fract() != 0.0);
            if let Some(weight) = weight {
                *word = ((weight * 100.0).round() / 100.0).into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_words_stay_and_weights_are_round() {
        let index = |words: &str| {
            let index = format!(
                r#"{{"docs":["it\'s 54.2 \\\\ GB"],"index":{{"index":{{"body":{{"root":{{{words}}}}}}}}}}}"#
            );
            format!("{HEAD}{index}{TAIL}")
        };
        let script = index(
            r#""3":{"2":{"df":1}},"b":{"4":{"df":2,"docs":{"7":{"tf":1.7320508}}}},"df":0,"±":{}"#,
        );
        let want = index(r#""b":{"4":{"df":2,"docs":{"7":{"tf":1.73}}}},"df":0"#);
        assert_eq!(pruned(&script).unwrap(), want);
        assert!(pruned("let index;").is_err());
    }
}

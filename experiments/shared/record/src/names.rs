//! Names that were misspelt.

/// Names at least so much alike, of at most 1, are taken for one that was misspelt.
const ALIKE: f64 = 0.85;

/// The one of `names` that was probably meant by `name`.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |near: &&str| strsim::jaro_winkler(name, near);
    let near = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    near.filter(|near| likeness(near) > ALIKE)
}

/// The [`nearest`] as the end of a sentence; nothing if there is none.
pub fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    nearest(name, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

//! What explorers say of a request, against what Nsight Compute counted on the reference machine.

use engine::explorer::{Request, show};
use serde_json::Value;

/// Every case of a record, if it has the words: its parameters, and for each request of a load
/// how many sectors, and how many wavefronts, to the nearest whole number.
fn counted(name: &str, case: &str) -> Vec<(Value, [u64; 2], u64)> {
    let path = format!("{}/../../results/h200/{name}-counters.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the record is there");
    let record: Value = serde_json::from_str(&text).expect("the record is JSON");
    let all = record["measurements"].as_array().expect("a list").iter();
    let of_case = all.filter(|one| one["case"] == case);
    of_case
        .map(|one| {
            let count = |name: &str| one["counters"][name].as_f64().expect("a count");
            let each = |all, requests| (count(all) / count(requests)).round() as u64;
            let loads = [
                each("global_load_sectors", "global_load_requests"),
                each("shared_load_wavefronts", "shared_load_requests"),
            ];
            let stored = each("global_store_sectors", "global_store_requests");
            (one["parameters"].clone(), loads, stored)
        })
        .collect()
}

/// What an explorer says in this state.
fn said<const N: usize>(name: &str, state: [(&str, String); N]) -> String {
    let state = state.map(|(knob, value)| (knob.to_owned(), value)).into();
    show(&Request { name: name.to_owned(), state }).expect("the state is one").said
}

fn things(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[test]
fn strided_loads_and_stores_cost_what_was_counted() {
    let mut compared = 0;
    for (parameters, [loaded, _], stored) in counted("coalescing", "stride") {
        let index = format!("{}*t", parameters["stride"]);
        let (access, sectors) = match parameters["kind"].as_str() {
            Some("gather") => ("load", loaded),
            Some("scatter") => ("store", stored),
            _ => continue,
        };
        let bytes = parameters["access_bytes"].to_string();
        let state = [("index", index), ("access", access.to_owned()), ("bytes", bytes)];
        let said = said("coalescing", state);
        assert!(said.contains(&format!(": {}", things(sectors, "sector"))), "{parameters}: {said}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn columns_take_the_wavefronts_that_were_counted() {
    let mut compared = 0;
    for (parameters, [_, wavefronts], _) in counted("bank-conflicts", "column") {
        let [padding, bytes] = ["padding", "access_bytes"].map(|name| parameters[name].to_string());
        if padding.parse::<u32>().is_ok_and(|padding| padding <= 32) {
            let said = said("banks", [("padding", padding), ("bytes", bytes)]);
            let told = format!(": {}.", things(wavefronts, "wavefront"));
            assert!(said.ends_with(&told), "{parameters}: {said}, and not {told}");
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared}");
}

#[test]
fn layouts_ask_for_the_sectors_that_were_counted() {
    let mut compared = 0;
    for (parameters, [sectors, _], _) in counted("data-layout", "read") {
        let tile = match parameters["layout"].as_str() {
            Some("array_of_structures") => 1,
            Some("structure_of_arrays") => 32,
            _ => continue,
        };
        if parameters["fields"] != 8 {
            continue;
        }
        let used = parameters["used"].as_u64().expect("a number");
        let state = [("tile", tile.to_string()), ("read", used.to_string())];
        let said = said("layout", state);
        let told = format!("for {};", things(used * sectors, "sector"));
        assert!(said.contains(&told), "{parameters}: {said}, and not {told}");
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}

#[test]
fn transposes_read_and_write_what_was_counted() {
    for kernel in ["read_coalesced", "write_coalesced", "tile", "tile_padded"] {
        for (parameters, [read, wavefronts], written) in counted("transpose", kernel) {
            let said = said("transpose", [("kernel", kernel.to_owned())]);
            let [read, written] = [read, written].map(|count| things(count, "sector"));
            let told = format!("reads {read} and writes {written}.");
            assert!(said.contains(&told), "{parameters}: {said}, and not {told}");
            if kernel.starts_with("tile") {
                let told = format!("read in {}.", things(wavefronts, "wavefront"));
                assert!(said.ends_with(&told), "{parameters}: {said}, and not {told}");
            }
        }
    }
}

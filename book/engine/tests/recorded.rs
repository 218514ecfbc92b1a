//! What explorers say, against what Nsight Compute counted, and what was computed, on the
//! reference machine; and what the emulated GPU recorded.

use engine::explorer::{Request, Values, find, show};
use serde_json::Value;

/// Every case of a record, if it has the words: its parameters, and for each request of a load
/// how many sectors, and how many wavefronts, to the nearest whole number.
fn counted(name: &str, case: &str) -> Vec<(Value, [u64; 2], u64)> {
    measured(&format!("h200/{name}-counters.json"), case)
        .iter()
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

/// Every measurement of a case in a record.
fn measured(record: &str, case: &str) -> Vec<Value> {
    let record: Value = serde_json::from_str(&read(&format!("results/{record}"))).expect("JSON");
    let all = record["measurements"].as_array().expect("a list").iter();
    all.filter(|one| one["case"] == case).cloned().collect()
}

/// A file of the project.
fn read(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect(&path)
}

/// What an explorer says in this state.
fn said<const N: usize>(name: &str, state: [(&str, String); N]) -> String {
    let state = state.map(|(knob, value)| (knob.to_owned(), value)).into();
    let request = Request { name: name.to_owned(), state, ..Request::default() };
    show(&request).expect("the state is one").said
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
        let told = format!("for {},", things(used * sectors, "sector"));
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

#[test]
fn ones_add_up_to_what_was_computed() {
    let mut compared = 0;
    for one in measured("h200/host-g/number-formats.json", "count") {
        let (exponent, fraction) = match one["parameters"]["kind"].as_str() {
            Some("tf32") => ("8", "10"),
            Some("bf16") => ("8", "7"),
            Some("fp16") => ("5", "10"),
            Some("e5m2") => ("5", "2"),
            Some("e4m3") => ("4", "3"),
            _ => continue,
        };
        let sum = one["model"]["sum"].as_f64().expect("a number");
        let terms = one["parameters"]["terms"].as_u64().expect("a number").min(2100);
        let state = [("exponent", exponent), ("fraction", fraction)];
        let [exponent, fraction] = state.map(|(knob, bits)| (knob, bits.to_owned()));
        let said = said("formats", [exponent, fraction, ("ones", terms.to_string())]);
        let said = said.replace(',', "");
        assert!(said.contains(&format!("Their sum: {sum}. ")), "{said}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn warps_go_both_ways_as_the_lesson_tells() {
    let output = read("experiments/first-steps/warps/output.txt");
    let mut compared = 0;
    for line in output.lines().filter(|line| line.starts_with("groups of ")) {
        let numbers: Vec<&str> =
            line.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
        let [group, split, warps, each] = numbers[..] else { panic!("{line}") };
        let said = said("warps", [("group", group.to_owned())]);
        let told = format!(" {split} of {warps} warps go both ways: {each} instructions ");
        assert!(said.contains(&told), "{said}, and not {told}");
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

/// A parameter of a measurement.
fn word(one: &Value, name: &str) -> String {
    match &one["parameters"][name] {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// The median of a measurement's samples.
fn seconds(one: &Value) -> f64 {
    let mut all: Vec<f64> =
        one["seconds"].as_array().expect("samples").iter().filter_map(Value::as_f64).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
fn a_copy_overlaps_a_kernel_where_it_was_measured_to() {
    let alone = measured("h200/host-a/stream-overlap.json", "alone");
    let mut compared = 0;
    for one in measured("h200/host-a/stream-overlap.json", "both") {
        let knobs = ["issue", "direction", "kind", "streams"].map(|name| word(&one, name));
        let [issue, direction, kind, streams] = knobs;
        if issue == "two_threads" {
            continue;
        }
        let copy = of(&alone, [("work", "copy"), ("direction", &direction), ("kind", &kind)]);
        let long = if seconds(&one) > 1.5 * copy { "twice as long" } else { "as long" };
        // The kernel is in the copy's stream, or in another.
        let state =
            [("issue", issue), ("direction", direction), ("kind", kind), ("kernel", streams)];
        let said = said("overlap", state);
        let told = format!("take {long} as the copy alone.");
        assert!(said.contains(&told), "{}: {said}, and not {told}", one["parameters"]);
        compared += 1;
    }
    assert_eq!(compared, 16);
}

#[test]
fn the_default_stream_makes_the_turns_that_were_measured() {
    let all = measured("h200/host-a/default-stream.json", "order");
    let takes = |streams: &str| of(&all, [("streams", streams), ("default", "legacy")]);
    let turns = (takes("blocking") / takes("non_blocking")).round();
    for (streams, turns) in [("blocking", turns), ("non_blocking", 1.0)] {
        let said = said("legacy", [("streams", streams.to_owned())]);
        assert!(said.starts_with(&format!("The three take {turns} turn")), "{said}");
    }
}

/// The seconds of a case of a record, which these parameters tell from others.
fn of<const N: usize>(all: &[Value], parameters: [(&str, &str); N]) -> f64 {
    let is_it = |one: &&Value| parameters.iter().all(|(name, value)| word(one, name) == *value);
    seconds(all.iter().find(is_it).unwrap_or_else(|| panic!("{parameters:?} was measured")))
}

#[test]
fn streams_gain_what_was_measured_to_be_gained() {
    let all = measured("h200/host-a/pipeline.json", "pipeline");
    for (load, memory, kernel) in
        [("balanced", "pinned", 2), ("kernel_bound", "pinned", 6), ("kernel_bound", "pageable", 6)]
    {
        let takes = |streams: &str| {
            let state = [("streams", streams.to_owned()), ("memory", memory.to_owned())];
            let [streams, memory] = state;
            let said = said("pipeline", [streams, memory, ("kernel", kernel.to_string())]);
            let (_, takes) = said.split_once(" take ").expect(&said);
            takes.split(['.', ' ']).next().and_then(|takes| takes.parse::<f64>().ok()).expect(&said)
        };
        let timed = |streams: &str| {
            let order = ("order", "depth_first");
            of(&all, [("load", load), ("kind", memory), ("streams", streams), order])
        };
        // Six batches here, 30 there: what fills and drains the pipeline weighs more here.
        let gain: f64 = takes("1") / takes("3");
        let measured = timed("1") / timed("3");
        let is_so = if gain == 1.0 { measured < 1.15 } else { measured > gain };
        assert!(is_so, "{load} {memory}: {gain}, and measured {measured}");
    }
}

#[test]
fn a_pool_that_asks_each_time_was_measured_to_be_slower() {
    let all = measured("h200/host-a/allocation.json", "round");
    let timed =
        |kind: &str| of(&all, [("kind", kind), ("state", "steady"), ("bytes", "268435456")]);
    for (threshold, kind, asked) in
        [("0", "returning_pool", "3 times"), ("256", "keeping_pool", "once")]
    {
        let said = said("pool", [("threshold", threshold.to_owned())]);
        assert!(said.contains(&format!("asked the GPU for memory {asked} ")), "{said}");
        let is_slow = timed(kind) > 2.0 * timed("kept");
        assert_eq!(is_slow, asked != "once", "{kind}: {}", timed(kind));
    }
}

/// In other sizes the measured pool, whose steps are larger than the emulated one's, would hold
/// more than the explorer says.
#[test]
fn a_pool_is_asked_for_whole_steps_of_the_measured_one() {
    let limits = measured("h200/host-a/pool-properties.json", "limit");
    let of_a_byte = limits.iter().find(|one| one["parameters"]["max_bytes"] == 1);
    let step = of_a_byte.and_then(|one| one["parameters"]["given_bytes"].as_u64());
    let step = step.expect("the record has the least cap");
    for knob in find("pool").expect("it is one").knobs {
        let Values::Choice(words) = &knob.values else { continue };
        for (mib, _) in *words {
            let bytes = mib.parse::<u64>().expect("MiB") << 20;
            assert!(bytes.is_multiple_of(step), "{} of {mib} MiB", knob.name);
        }
    }
}

#[test]
fn gpus_send_what_bus_bandwidth_counts() {
    let all = measured("h200-x4/host-a/all-reduce.json", "queued");
    let mut compared = 0;
    for one in all.iter().filter(|one| one["parameters"]["method"] == "ring") {
        let vector = one["parameters"]["bytes"].as_f64().expect("a number");
        let sent = one["bytes_read"].as_f64().expect("a number");
        let said = said("ring", [("gpus", "4".to_owned()), ("step", "6".to_owned())]);
        let told = format!(", {:.3} of its vector.", sent / vector);
        assert!(said.contains(&told), "{said}, and not {told}");
        compared += 1;
    }
    assert!(compared > 3, "{compared}");
}

//! Writing is all or nothing: whatever happens meanwhile, the place of a record holds
//! the whole old one or the whole new one.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use record::file::{parse, to_json};
use record::{Record, Results};
use tempfile::TempDir;

const GOLDEN: &str = include_str!("golden/h200/example.json");

/// The golden record with so many more measurements.
fn example(more: u64) -> Record {
    let mut record = parse(Path::new("example.json"), GOLDEN).unwrap();
    let copy = record.measurements[0].clone();
    for n in 0..more {
        let mut copy = copy.clone();
        copy.parameters.insert("n".to_owned(), n.into());
        copy.seconds = vec![1e-3; 20];
        record.measurements.push(copy);
    }
    record
}

/// A results folder that holds the golden record.
fn folder() -> (TempDir, Results) {
    let folder = tempfile::tempdir().unwrap();
    let results = Results::new(folder.path());
    results.write(&example(0)).unwrap();
    (folder, results)
}

/// The golden record is there, byte for byte, and nothing else is.
#[track_caller]
fn untouched(folder: &Path) {
    let machine = folder.join("h200");
    let names: Vec<_> =
        fs::read_dir(&machine).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["example.json"]);
    assert_eq!(fs::read_to_string(machine.join("example.json")).unwrap(), GOLDEN);
}

#[test]
fn a_record_is_written_as_the_golden_file() {
    let (folder, results) = folder();
    untouched(folder.path());
    // Meant to be shared: readable for everybody, as far as the umask allows.
    let mode = fs::metadata(folder.path().join("h200/example.json")).unwrap().mode();
    let probe = folder.path().join("probe");
    fs::write(&probe, "").unwrap();
    assert_eq!(mode & 0o777, fs::metadata(&probe).unwrap().mode() & 0o644);

    let path = results.write(&example(3)).unwrap();
    assert_eq!(path, folder.path().join("h200/example.json"));
    assert_eq!(results.read("h200", "example").unwrap().unwrap(), example(3));
}

#[test]
fn an_invalid_record_changes_nothing() {
    let (folder, results) = folder();
    let mut record = example(0);
    record.measurements[0].seconds.clear();
    results.write(&record).unwrap_err();
    untouched(folder.path());
    // Nor does it leave a folder for a machine that has no record.
    record.machine.name = "other".to_owned();
    results.write(&record).unwrap_err();
    assert_eq!(results.machines().unwrap(), ["h200"]);
}

#[test]
fn a_place_that_is_taken_is_named_and_left_alone() {
    let (folder, results) = folder();
    let mut record = example(0);
    record.experiment = "taken".to_owned();
    let taken = folder.path().join("h200/taken.json");
    fs::create_dir_all(taken.join("inside")).unwrap();
    let error = results.write(&record).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: ", taken.display())), "{error}");
    assert!(taken.join("inside").is_dir());
    fs::remove_dir_all(taken).unwrap();
    untouched(folder.path()); // no temporary file is left behind

    record.machine.name = "file".to_owned();
    fs::write(folder.path().join("file"), "text").unwrap();
    let error = results.write(&record).unwrap_err().to_string();
    assert!(error.contains("file"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "text");
}

#[test]
fn a_folder_that_is_read_only() {
    let (folder, _) = folder();
    let machine = folder.path().join("h200");
    let mode = |mode| fs::set_permissions(&machine, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o555);
    // Root may write to any folder, until it gives this up.
    let first = match fs::write(machine.join("probe"), "") {
        Ok(()) => "exec setpriv --bounding-set=-dac_override",
        Err(_) => "exec",
    };
    let output = spawn_child("write once", folder.path(), first).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("denied"), "{said}");
    mode(0o755);
    let _ = fs::remove_file(machine.join("probe")); // root's
    untouched(folder.path());
}

/// Says to a copy of this test program what it is to do, and where.
const TASK: &str = "RECORD_TEST_TASK";
const FOLDER: &str = "RECORD_TEST_FOLDER";

#[test]
#[ignore = "what other tests run in a process of its own"]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let results = Results::new(std::env::var_os(FOLDER).unwrap());
    match task.as_str() {
        "write forever" => {
            let (short, long) = (example(0), example(2000));
            loop {
                results.write(&long).unwrap();
                results.write(&short).unwrap();
            }
        }
        "write once" => {
            let error = results.write(&example(2000)).unwrap_err().to_string();
            assert!(error.contains("h200") && error.contains("os error"), "{error}");
            eprintln!("{error}");
        }
        other => panic!("no such task: {other}"),
    }
}

/// Runs [`child`] under a shell that says `first` before.
fn spawn_child(task: &str, folder: &Path, first: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("{first} \"$0\" child --ignored --exact --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(TASK, task)
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The disk fills up midway. A limit on the size of files does the same to a process
/// without needing a disk: a write beyond it fails after part of the bytes.
#[test]
fn a_disk_that_fills_up() {
    let (folder, _) = folder();
    let limit = "trap '' XFSZ && ulimit -f 8 && exec";
    let output = spawn_child("write once", folder.path(), limit).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    untouched(folder.path());
}

#[test]
fn a_process_killed_while_it_writes() {
    let (folder, results) = folder();
    let old_or_new = [to_json(&example(0)), to_json(&example(2000))];
    let path = folder.path().join("h200/example.json");
    const ROUNDS: u64 = 20;
    let mut seen = [0; 2];
    let mut midway = 0;
    for round in 0..ROUNDS {
        let mut child = spawn_child("write forever", folder.path(), "exec");
        // Until its next file is beside the record, and a little longer each time.
        while fs::read_dir(folder.path().join("h200")).unwrap().count() < 2 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the child has not written: {ended:?}");
        }
        std::thread::sleep(Duration::from_micros(50 * round));
        child.kill().unwrap(); // SIGKILL: no destructor runs
        child.wait().unwrap();

        let found = fs::read_to_string(&path).unwrap();
        let which = old_or_new.iter().position(|whole| *whole == found);
        seen[which.expect("half a record")] += 1;
        results.read("h200", "example").unwrap().unwrap();

        // What the killed process left behind disturbs nobody.
        assert_eq!(results.experiments("h200").unwrap(), ["example"]);
        for entry in fs::read_dir(folder.path().join("h200")).unwrap() {
            let entry = entry.unwrap();
            if entry.path() != path {
                let name = entry.file_name().into_string().unwrap();
                assert!(name.starts_with(".record-"), "{name}");
                fs::remove_file(entry.path()).unwrap();
                midway += 1;
            }
        }
    }
    eprintln!("found {seen:?} short and long records; {midway} of {ROUNDS} kills came midway");
    assert!(midway > 0, "no kill came while a record was being written");
}

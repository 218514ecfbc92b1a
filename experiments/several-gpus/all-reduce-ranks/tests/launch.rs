//! The real program, started as launchers start it, on emulated GPUs: up to where NCCL is
//! needed, which those do not have.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

#[path = "../../../../book/workbook/tests/support/skip.rs"]
mod skip;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use record::{Results, Source};
use skip::skip;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_all-reduce-ranks");

/// The program with these arguments, in an environment with these variables.
fn start(arguments: &str, environment: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(arguments.split_whitespace());
    // Whoever runs the tests may be a launcher's child.
    let launchers = ["RANK", "WORLD_SIZE", "OMPI_", "SLURM_", "MASTER_"];
    for (name, _) in std::env::vars() {
        if launchers.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    let pairs = environment.split_whitespace();
    command.envs(pairs.map(|pair| pair.split_once('=').unwrap()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The same on emulated GPUs, with its records in this folder.
fn emulated(folder: &TempDir, options: &str, environment: &str) -> Child {
    let folder = folder.path().display();
    start(&format!("--emulate --results {folder} {options}"), environment)
}

/// It ends with this exit code. Returns what it has said.
#[track_caller]
fn end(child: Child, code: i32) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let said = text(stdout) + &text(stderr);
    assert_eq!(status.code().unwrap(), code, "{said}");
    said
}

/// What all ranks of a team say, which end with this exit code. `environment` is that of a
/// rank at a port.
#[track_caller]
fn together(
    ranks: usize,
    environment: impl Fn(usize, u32) -> String,
    code: i32,
) -> (TempDir, Vec<String>) {
    let (folder, port) = (tempfile::tempdir().unwrap(), port());
    let start = |rank| emulated(&folder, "", &environment(rank, port));
    let all: Vec<_> = (0..ranks).rev().map(start).collect();
    let said = all.into_iter().map(|child| end(child, code)).collect();
    (folder, said)
}

/// Below the ports that the system gives to others, and for each team two of its own.
fn port() -> u32 {
    static TEAMS: AtomicU32 = AtomicU32::new(0);
    let team = 32 * std::process::id() + TEAMS.fetch_add(1, Ordering::Relaxed);
    10_000 + 2 * team % 20_000
}

fn torchrun(rank: usize, ranks: usize, port: u32) -> String {
    format!(
        "RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={ranks} MASTER_ADDR=localhost \
         MASTER_PORT={port}"
    )
}

#[track_caller]
fn check_record(results: &Path, ranks: &str) {
    let record = Results::new(results).read("emulated", "all-reduce-ranks");
    let record = record.unwrap().unwrap();
    assert_eq!(record.source, Source::Emulated);
    let [skipped] = &record.skipped[..] else { panic!("{:?}", record.skipped) };
    assert_eq!(skipped.parameters["ranks"].to_string(), ranks);
    assert_eq!(skipped.reason, "the emulated GPUs have no NCCL; the ranks met");
}

#[test]
fn without_a_launcher_it_starts_a_process_for_each_gpu() {
    let folder = tempfile::tempdir().unwrap();
    end(emulated(&folder, "", ""), 0);
    check_record(folder.path(), "2");
}

#[test]
fn every_launchers_environment_leads_to_the_same_meeting() {
    type Environment = fn(usize, u32) -> String;
    let launchers: [Environment; 4] = [
        |rank, port| torchrun(rank, 2, port),
        |rank, port| {
            format!("{} TORCHELASTIC_USE_AGENT_STORE=True", torchrun(rank, 2, port))
        },
        |rank, port| {
            format!(
                "SLURM_PROCID={rank} SLURM_LOCALID={rank} SLURM_NTASKS=2 \
                 SLURM_STEP_TASKS_PER_NODE=2 MASTER_PORT={port}"
            )
        },
        |rank, port| {
            format!(
                "OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_LOCAL_RANK={rank} \
                 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 MASTER_PORT={port}"
            )
        },
    ];
    for environment in launchers {
        let (folder, _) = together(2, environment, 0);
        check_record(folder.path(), "2");
    }
}

#[test]
fn one_rank_is_a_team() {
    let (folder, _) = together(1, |rank, port| torchrun(rank, 1, port), 0);
    check_record(folder.path(), "1");
}

#[test]
fn one_gpu_without_a_launcher_is_too_few() {
    let folder = tempfile::tempdir().unwrap();
    let said = end(emulated(&folder, "", "CUDA_VISIBLE_DEVICES=1"), 77);
    let why = "it starts one process for each GPU, and CUDA sees one GPU";
    assert!(said.contains(why), "{said}");
}

#[test]
fn without_nccl_all_ranks_say_what_to_install() {
    if lab::nccl::available().is_ok() {
        return skip("this machine has NCCL");
    }
    // A driver that passes for NVIDIA's, with one GPU.
    let driver = format!("LD_LIBRARY_PATH={}", test_driver::FOLDER.display());
    let folder = tempfile::tempdir().unwrap();
    let results = format!("--results {}", folder.path().display());
    let child = start(&results, &format!("{driver} {}", torchrun(0, 1, port())));
    let said = end(child, 77);
    assert!(said.contains("pip install nvidia-nccl"), "{said}");
}

#[test]
fn all_ranks_must_have_the_same_options() {
    let (folder, port) = (tempfile::tempdir().unwrap(), port());
    let start =
        |(rank, options)| emulated(&folder, options, &torchrun(rank, 2, port));
    for child in [(0, ""), (1, "--samples 3")].map(start) {
        let said = end(child, 1);
        for named in [
            "rank 1 (process ",
            " has a different set of options from rank 0 (process ",
            " --samples 3`, not `--emulate ",
        ] {
            assert!(said.contains(named), "{said}");
        }
    }
}

#[test]
fn two_ranks_cannot_share_a_gpu() {
    // Each sees one GPU, as behind a launcher that gives it one: here both the same.
    let sees = |rank, port, gpu| {
        format!("{} CUDA_VISIBLE_DEVICES={gpu}", torchrun(rank, 2, port))
    };
    let (_, said) = together(2, |rank, port| sees(rank, port, 0), 1);
    for said in said {
        assert!(said.contains(" use the same GPU (UUID "), "{said}");
    }
    // And GPUs of their own, which both call 0.
    together(2, |rank, port| sees(rank, port, rank), 0);
}

#[test]
fn a_rank_without_a_gpu_tells_all() {
    let (_, said) = together(3, |rank, port| torchrun(rank, 3, port), 1);
    for said in said {
        assert!(said.contains("rank 2 (process "), "{said}");
        // There are two.
        let why = "cannot take part: its local rank is 2, and it sees only 2 GPUs";
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn the_slurm_script_starts_a_rank_for_each_task() {
    // Slurm's commands, as far as the script needs them.
    let folder = tempfile::tempdir().unwrap();
    let command = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    command("scontrol", "echo localhost; echo another");
    command(
        "srun",
        "while case $1 in -*) true ;; *) false ;; esac; do shift; done
         SLURM_PROCID=1 SLURM_LOCALID=1 \"$@\" &
         SLURM_PROCID=0 SLURM_LOCALID=0 \"$@\" && wait $!",
    );
    let path = std::env::var("PATH").unwrap();
    let results = folder.path().join("results");
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../scripts/all-reduce-ranks.sbatch");
    let mut bash = Command::new("bash");
    bash.arg(script).args(["--emulate", "--results"]).arg(&results);
    bash.env("PATH", format!("{}:{path}", folder.path().display()));
    bash.env("PROGRAM", PROGRAM).env("MACHINE", "emulated");
    bash.env("SLURM_JOB_ID", port().to_string()).env("SLURM_NTASKS", "2");
    bash.env("SLURM_JOB_NODELIST", "localhost,another");
    end(bash.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), 0);
    check_record(&results, "2");
}

#[test]
fn what_is_wrong_in_the_environment_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (environment, told) in [
        ("RANK=0 WORLD_SIZE=2", "error: LOCAL_RANK is not set"),
        (
            "RANK=2 WORLD_SIZE=2",
            "error: RANK is \"2\"; expected an integer from 0 to",
        ),
        (
            "WORKBOOK_PATIENCE=soon",
            "error: WORKBOOK_PATIENCE is `soon`, but may only",
        ),
        ("WORKBOOK_PATIENCE=0", "error: WORKBOOK_PATIENCE is `0`, but may only"),
    ] {
        let said = end(emulated(&folder, "", environment), 1);
        assert!(said.contains(told), "{said}");
    }
}

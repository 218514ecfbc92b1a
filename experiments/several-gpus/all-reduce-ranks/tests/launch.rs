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

/// The program with these options, in an environment with these variables.
fn start(folder: &TempDir, options: &str, environment: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["--emulate", "--results"]).arg(folder.path());
    command.args(options.split_whitespace());
    // Whoever runs the tests may be a launcher's child.
    let launchers = ["RANK", "WORLD_SIZE", "OMPI_", "SLURM_", "MASTER_"];
    for (name, _) in std::env::vars() {
        if launchers.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.envs(
        environment.split_whitespace().map(|pair| pair.split_once('=').unwrap()),
    );
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a process did.
#[track_caller]
fn end(child: Child) -> (i32, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout) + &text(stderr))
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
    let (code, said) = end(start(&folder, "", ""));
    assert_eq!(code, 0, "{said}");
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
        let (folder, port) = (tempfile::tempdir().unwrap(), port());
        let other = start(&folder, "", &environment(1, port));
        let rank_0 = start(&folder, "", &environment(0, port));
        for child in [rank_0, other] {
            let (code, said) = end(child);
            assert_eq!(code, 0, "{}: {said}", environment(0, port));
        }
        check_record(folder.path(), "2");
    }
}

#[test]
fn one_rank_is_a_team() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = end(start(&folder, "", &torchrun(0, 1, port())));
    assert_eq!(code, 0, "{said}");
    check_record(folder.path(), "1");
}

#[test]
fn one_gpu_without_a_launcher_is_too_few() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = end(start(&folder, "", "CUDA_VISIBLE_DEVICES=1"));
    assert_eq!(code, 77, "{said}");
    assert!(
        said.contains("it starts one process for each GPU, and CUDA sees one"),
        "{said}"
    );
}

#[test]
fn without_nccl_all_ranks_say_what_to_install() {
    if lab::nccl::available().is_ok() {
        return skip("this machine has NCCL");
    }
    // A driver that passes for NVIDIA's, with one GPU.
    let libraries = &*test_driver::FOLDER;
    for ranks in ["one", "none"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(PROGRAM);
        command
            .arg("--results")
            .arg(folder.path())
            .env("LD_LIBRARY_PATH", libraries);
        if ranks == "one" {
            let environment = torchrun(0, 1, port());
            command.envs(
                environment.split(' ').map(|pair| pair.split_once('=').unwrap()),
            );
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let (code, said) = end(child.unwrap());
        assert_eq!(code, 77, "{said}");
        let why = match ranks {
            "one" => "pip install nvidia-nccl",
            _ => "it starts one process for each GPU, and CUDA sees one GPU",
        };
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn all_ranks_must_have_the_same_options() {
    let (folder, port) = (tempfile::tempdir().unwrap(), port());
    let options = ["", "--samples 3"];
    let start =
        |rank: usize| start(&folder, options[rank], &torchrun(rank, 2, port));
    for child in [0, 1].map(start) {
        let (code, said) = end(child);
        assert_eq!(code, 1, "{said}");
        let named = said.contains("rank 1 (process ")
            && said
                .contains(" has a different set of options from rank 0 (process ")
            && said.contains(" --samples 3`, not `--emulate ");
        assert!(named, "{said}");
    }
}

#[test]
fn two_ranks_cannot_share_a_gpu() {
    let (folder, port) = (tempfile::tempdir().unwrap(), port());
    // Each sees one GPU, as behind a launcher that gives it one: here both the same.
    let start = |rank: usize| {
        let environment =
            format!("{} CUDA_VISIBLE_DEVICES=0", torchrun(rank, 2, port));
        start(&folder, "", &environment)
    };
    for child in [0, 1].map(start) {
        let (code, said) = end(child);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(" use the same GPU (UUID "), "{said}");
    }
    // And GPUs of their own, which both call 0.
    let start = |rank: usize| {
        let environment =
            format!("{} CUDA_VISIBLE_DEVICES={rank}", torchrun(rank, 2, port + 1));
        self::start(&folder, "", &environment)
    };
    for child in [0, 1].map(start) {
        let (code, said) = end(child);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn a_rank_without_a_gpu_tells_all() {
    let (folder, port) = (tempfile::tempdir().unwrap(), port());
    let start = |rank| start(&folder, "", &torchrun(rank, 3, port));
    for child in [0, 1, 2].map(start) {
        let (code, said) = end(child);
        assert_eq!(code, 1, "{said}");
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
    let (code, said) =
        end(bash.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, 0, "{said}");
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
        let (code, said) = end(start(&folder, "", environment));
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(told), "{said}");
    }
}

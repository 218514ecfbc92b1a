//! Which rank this process is, from the environment that its launcher made.

use std::ops::RangeInclusive;

use anyhow::{Context, Result};

/// Which of the processes this one is, and where they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// This process's number among all, from 0.
    pub rank: usize,
    /// This process's number among those of its host, from 0.
    pub local_rank: usize,
    /// How many processes there are.
    pub ranks: usize,
    /// The host of rank 0, where the ranks meet.
    pub host: String,
    /// The port there.
    pub port: u16,
}

/// What each launcher is called, and its variables for a process's rank, the number of ranks,
/// the local rank and the number of ranks on this host: if that is all, they meet here.
///
/// The innermost launcher comes first: `torchrun` and `mpirun` run inside Slurm's jobs, which
/// leave their own variables in the environment.
const LAUNCHERS: [[&str; 5]; 3] = [
    ["torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"],
    [
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ],
    // On several hosts the last is `8(x2)`.
    ["srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"],
];

/// Where ranks meet whose launcher names no port, as with PyTorch.
const USUAL_PORT: u16 = 29_500;

impl Place {
    /// This process's place. `None` if no launcher started it.
    pub fn from_environment() -> Result<Option<Place>> {
        Place::read(|name| std::env::var(name).ok())
    }

    fn read(get: impl Fn(&str) -> Option<String>) -> Result<Option<Place>> {
        let Some([launcher, its_rank, its_ranks, its_local_rank, ranks_here]) =
            LAUNCHERS.iter().find(|[_, rank, ..]| get(rank).is_some())
        else {
            return Ok(None);
        };
        let number = |variable: &str, range: RangeInclusive<usize>, expected: &str| {
            let unset = || format!("{variable} is not set, though {its_rank} is, by {launcher}");
            let value = get(variable).with_context(unset)?;
            let number = value.parse().ok().filter(|n| range.contains(n));
            number.with_context(|| format!("{variable} is {value:?}; expected {expected}"))
        };
        let ranks = number(its_ranks, 1..=usize::MAX, "a positive integer")?;
        let below_ranks = format!("an integer from 0 to {its_ranks} - 1");
        let rank = number(its_rank, 0..=ranks - 1, &below_ranks)?;
        let local_rank = number(its_local_rank, 0..=ranks - 1, &below_ranks)?;
        let all_here = ranks == 1 || get(ranks_here) == Some(ranks.to_string());
        let host = get("MASTER_ADDR").or(all_here.then(|| "127.0.0.1".to_owned()));
        let host = host.with_context(|| {
            format!(
                "MASTER_ADDR is not set, and not all ranks are on one host by {ranks_here}: set \
                 it to the host of rank 0"
            )
        })?;
        let mut port = USUAL_PORT;
        if get("MASTER_PORT").is_some() {
            port = number("MASTER_PORT", 1..=65_534, "an integer from 1 to 65534")? as u16;
        }
        // torchrun itself listens on the port that it tells; the next one is free.
        port += u16::from(get("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True"));
        Ok(Some(Place { rank, local_rank, ranks, host, port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &str) -> Result<Option<Place>> {
        Place::read(|name| {
            environment.split_whitespace().find_map(|pair| {
                let (key, value) = pair.split_once('=')?;
                (key == name).then(|| value.to_owned())
            })
        })
    }

    #[track_caller]
    fn place(environment: &str) -> ([usize; 3], String) {
        let place = read(environment).unwrap().unwrap();
        let numbers = [place.rank, place.local_rank, place.ranks];
        (numbers, format!("{}:{}", place.host, place.port))
    }

    const TORCHRUN: &str = "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 MASTER_ADDR=gpu07 MASTER_PORT=29400";
    const MPIRUN: &str =
        "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=2";
    const SRUN: &str = "SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NTASKS=4";

    #[test]
    fn each_launcher_says_it_in_its_own_words() {
        // The shell of an `salloc` has the number of tasks, and is no rank.
        assert_eq!(read("HOME=/ SLURM_NTASKS=4 SLURM_JOB_ID=1").unwrap(), None);
        let torchrun = ([5, 1, 8], "gpu07:29400".to_owned());
        assert_eq!(place(TORCHRUN), torchrun);
        assert_eq!(place(&format!("{SRUN} {TORCHRUN}")), torchrun, "inside a Slurm job");
        // Its own store listens there, so that the ranks meet at the next port.
        let stored = format!("{TORCHRUN} TORCHELASTIC_USE_AGENT_STORE=True");
        assert_eq!(place(&stored).1, "gpu07:29401");
        for (launcher, numbers, here, elsewhere) in [
            (MPIRUN, [1, 1, 2], "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=1"),
            (SRUN, [3, 1, 4], "SLURM_STEP_TASKS_PER_NODE=4", "SLURM_STEP_TASKS_PER_NODE=2(x2)"),
        ] {
            let here = format!("{launcher} {here}");
            assert_eq!(place(&here), (numbers, "127.0.0.1:29500".to_owned()));
            let told = format!("{launcher} {elsewhere} MASTER_ADDR=gpu07 MASTER_PORT=7000");
            assert_eq!(place(&told), (numbers, "gpu07:7000".to_owned()));
            let error = read(&format!("{launcher} {elsewhere}")).unwrap_err().to_string();
            assert!(error.starts_with("MASTER_ADDR is not set, and not all ranks"), "{error}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let error = |environment: &str| read(environment).unwrap_err().to_string();
        for variable in ["WORLD_SIZE", "LOCAL_RANK"] {
            let others = TORCHRUN.split(' ').filter(|pair| !pair.starts_with(variable));
            let told = error(&others.collect::<Vec<_>>().join(" "));
            assert_eq!(told, format!("{variable} is not set, though RANK is, by torchrun"));
        }
        for (wrong, told) in [
            ("RANK=x", "RANK is \"x\"; expected an integer from 0 to WORLD_SIZE - 1"),
            ("RANK=8", "RANK is \"8\"; expected an integer from 0 to WORLD_SIZE - 1"),
            ("WORLD_SIZE=0", "WORLD_SIZE is \"0\"; expected a positive integer"),
            ("LOCAL_RANK=-1", "LOCAL_RANK is \"-1\"; expected an integer from 0 to WORLD_SIZE - 1"),
            ("MASTER_PORT=0", "MASTER_PORT is \"0\"; expected an integer from 1 to 65534"),
        ] {
            assert_eq!(error(&format!("{wrong} {TORCHRUN}")), told);
        }
    }
}

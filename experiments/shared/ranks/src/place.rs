//! Which rank this process is, from the environment that its launcher made.

use crate::{Error, SECRET_VARIABLE};

/// What started this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launcher {
    /// `torchrun`, or anybody who sets `RANK`, `WORLD_SIZE` and `LOCAL_RANK`.
    Torchrun,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// The `mpirun` of MPICH and of Intel MPI.
    Mpich,
    /// Slurm's `srun`.
    Slurm,
}

impl std::fmt::Display for Launcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Launcher::Torchrun => "torchrun",
            Launcher::OpenMpi => "Open MPI's mpirun",
            Launcher::Mpich => "MPICH's mpirun",
            Launcher::Slurm => "srun",
        })
    }
}

/// Which of the processes this one is, and where they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number among all processes, from 0.
    pub rank: usize,
    /// Its number among the processes of this host, from 0.
    pub local_rank: usize,
    /// How many processes there are.
    pub ranks: usize,
    /// The host of rank 0, where the ranks meet.
    pub host: String,
    /// The port there.
    pub port: u16,
    /// What the ranks of this run know each other by, if it has something.
    pub secret: Option<String>,
}

// ANCHOR: variables
/// The variables that a launcher sets.
struct Variables {
    launcher: Launcher,
    /// Any of these says that the launcher was at work.
    signs: &'static [&'static str],
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static [&'static str],
    /// How many of the ranks are on this host, if that is needed: MPI's launchers do not
    /// say where rank 0 is.
    here: Option<&'static str>,
}

/// The innermost launcher first: `torchrun` and `mpirun` run inside Slurm's jobs, which
/// leave their own variables in the environment.
const VARIABLES: [Variables; 4] = [
    Variables {
        launcher: Launcher::Torchrun,
        signs: &["RANK", "WORLD_SIZE"],
        rank: "RANK",
        ranks: "WORLD_SIZE",
        local_rank: &["LOCAL_RANK"],
        here: None,
    },
    Variables {
        launcher: Launcher::OpenMpi,
        signs: &["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        local_rank: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        here: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
    },
    Variables {
        launcher: Launcher::Mpich,
        signs: &["PMI_RANK", "PMI_SIZE"],
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        // `srun --mpi=pmi2` sets the first two and says the third in its own words.
        local_rank: &["MPI_LOCALRANKID", "SLURM_LOCALID"],
        here: Some("MPI_LOCALNRANKS"),
    },
    Variables {
        launcher: Launcher::Slurm,
        // Not SLURM_NTASKS: the shell of an `salloc` has that, and is no rank.
        signs: &["SLURM_PROCID"],
        rank: "SLURM_PROCID",
        ranks: "SLURM_NTASKS",
        local_rank: &["SLURM_LOCALID"],
        here: None,
    },
];
// ANCHOR_END: variables

/// What a launcher without a port of its own gets, as with PyTorch.
const USUAL_PORT: u16 = 29_500;

impl Place {
    /// This process's place. `None` if no launcher started it.
    pub fn from_environment() -> Result<Option<Place>, Error> {
        Place::read(|name| std::env::var(name).ok())
    }

    /// The place that an environment describes.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Option<Place>, Error> {
        let set = |name: &&str| get(name).is_some();
        let Some(variables) = VARIABLES.iter().find(|v| v.signs.iter().any(set)) else {
            return Ok(None);
        };
        let launcher = variables.launcher;
        let missing = |variable: &str| {
            Error::new(format!(
                "{variable} is not set, though other variables say that {launcher} \
                 started this"
            ))
        };
        let no_master = || {
            Error::new(format!(
                "MASTER_ADDR is not set: {launcher} started ranks on several hosts and \
                 does not say on which of them rank 0 is"
            ))
        };
        let number = |variable: &str| {
            let value = get(variable).ok_or_else(|| missing(variable))?;
            value.parse().map_err(|_| Error::not_a_number(variable, &value))
        };
        let rank = number(variables.rank)?;
        let ranks: usize = number(variables.ranks)?;
        if rank >= ranks {
            return Err(Error::new(format!(
                "{}={rank}, but {}={ranks}: ranks count from 0 to {}",
                variables.rank,
                variables.ranks,
                ranks.saturating_sub(1)
            )));
        }
        let local = variables.local_rank;
        let local_rank = number(local.iter().copied().find(|n| set(n)).unwrap_or(local[0]))?;
        let here = variables.here.and_then(&get);
        let all_here = ranks == 1 || here.is_some_and(|n| n == ranks.to_string());
        let host = match (launcher, get("MASTER_ADDR")) {
            (_, Some(host)) => host,
            (Launcher::Torchrun, None) => return Err(missing("MASTER_ADDR")),
            (Launcher::Slurm, None) => {
                let nodes = get("SLURM_STEP_NODELIST").or(get("SLURM_JOB_NODELIST"));
                let first = nodes.map(|nodes| first_host(&nodes));
                first.or(get("SLURM_LAUNCH_NODE_IPADDR")).ok_or_else(no_master)?
            }
            (_, None) if all_here => "127.0.0.1".to_owned(),
            (_, None) => return Err(no_master()),
        };
        let port = match get("MASTER_PORT") {
            Some(value) => match value.parse() {
                Ok(port @ 1..) => port,
                _ => return Err(Error::not_a_number("MASTER_PORT", &value)),
            },
            None if launcher == Launcher::Torchrun => {
                return Err(missing("MASTER_PORT"));
            }
            // One port for each job, below those that the system gives away.
            None => match get("SLURM_JOB_ID").and_then(|id| id.parse::<u64>().ok()) {
                Some(job) => 20_000 + (job % 10_000) as u16,
                None => USUAL_PORT,
            },
        };
        // torchrun itself listens on the port that it tells; the next one is free.
        let taken = get("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True");
        let port = match port {
            u16::MAX if taken => port - 1,
            _ if taken => port + 1,
            _ => port,
        };
        let secret = get(SECRET_VARIABLE);
        Ok(Some(Place { rank, local_rank, ranks, host, port, secret }))
    }
}

/// The first host of a list in Slurm's short form: `gpu[07-09,12],login1` starts with
/// `gpu07`.
fn first_host(list: &str) -> String {
    let mut host = String::new();
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ',' => break,
            '[' => {
                // The first of the alternatives; what follows the bracket belongs to all.
                let inside: String = letters.by_ref().take_while(|c| *c != ']').collect();
                host.extend(inside.chars().take_while(|c| !matches!(c, '-' | ',')));
            }
            letter => host.push(letter),
        }
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &str) -> Result<Option<Place>, Error> {
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

    #[track_caller]
    fn error(environment: &str) -> String {
        read(environment).unwrap_err().to_string()
    }

    const TORCHRUN: &str = "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 MASTER_ADDR=gpu07 MASTER_PORT=29400";

    #[test]
    fn without_a_launcher_there_is_no_place() {
        assert_eq!(read("HOME=/ SLURM_NTASKS=4 SLURM_JOB_ID=1").unwrap(), None);
    }

    #[test]
    fn torchrun_says_everything() {
        let expected = ([5, 1, 8], "gpu07:29400".to_owned());
        assert_eq!(place(TORCHRUN), expected);
        // Its own store listens there, so that the ranks meet at the next port.
        let stored = format!("{TORCHRUN} TORCHELASTIC_USE_AGENT_STORE=True");
        assert_eq!(place(&stored).1, "gpu07:29401");
        let secret = format!("{TORCHRUN} {SECRET_VARIABLE}=x");
        assert_eq!(read(&secret).unwrap().unwrap().secret.as_deref(), Some("x"));
        // Inside a Slurm job it is torchrun that counts.
        let inside = format!("SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 {TORCHRUN}");
        assert_eq!(place(&inside), expected);
    }

    #[test]
    fn srun_says_it_in_its_own_words() {
        let srun = "SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NTASKS=4 SLURM_JOB_ID=1234567";
        let listed = format!("{srun} SLURM_STEP_NODELIST=gpu[07-09,12],login1");
        let meeting = "gpu07:24567".to_owned();
        assert_eq!(place(&listed), ([3, 1, 4], meeting));
        let job = format!("{srun} SLURM_JOB_NODELIST=a1,b2 MASTER_PORT=7000");
        assert_eq!(place(&job).1, "a1:7000");
        let launch = format!("{srun} SLURM_LAUNCH_NODE_IPADDR=10.0.0.7");
        assert_eq!(place(&launch).1, "10.0.0.7:24567");
        let told = format!("{listed} MASTER_ADDR=elsewhere");
        assert_eq!(place(&told).1, "elsewhere:24567");
    }

    #[test]
    fn mpi_says_where_it_runs_if_all_ranks_are_there() {
        let open = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 \
                    OMPI_COMM_WORLD_SIZE=2";
        let here = format!("{open} OMPI_COMM_WORLD_LOCAL_SIZE=2");
        let meeting = "127.0.0.1:29500".to_owned();
        assert_eq!(place(&here), ([1, 1, 2], meeting.clone()));
        assert!(error(open).starts_with("MASTER_ADDR is not set: Open MPI's mpirun"));
        let mpich = "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2";
        assert_eq!(place(mpich), ([1, 1, 2], meeting));
        let srun = "PMI_RANK=1 PMI_SIZE=2 SLURM_LOCALID=0 MASTER_ADDR=a";
        assert_eq!(place(srun).0, [1, 0, 2]);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (variable, told) in [
            ("RANK", "RANK is not set"),
            ("WORLD_SIZE", "WORLD_SIZE is not set"),
            ("LOCAL_RANK", "LOCAL_RANK is not set"),
            ("MASTER_ADDR", "MASTER_ADDR is not set"),
            ("MASTER_PORT", "MASTER_PORT is not set"),
        ] {
            let pair = |p: &&str| !p.starts_with(&format!("{variable}="));
            let rest: Vec<_> = TORCHRUN.split(' ').filter(pair).collect();
            let error = error(&rest.join(" "));
            assert!(error.starts_with(told), "{error}");
            assert!(error.ends_with("torchrun started this"), "{error}");
        }
        let with = |pair: &str| error(&format!("{pair} {TORCHRUN}"));
        assert_eq!(with("RANK=x"), "RANK=x is not a number that makes sense there");
        assert_eq!(with("RANK=8"), "RANK=8, but WORLD_SIZE=8: ranks count from 0 to 7");
        assert!(with("LOCAL_RANK=-1").starts_with("LOCAL_RANK=-1 is not"));
        assert!(with("MASTER_PORT=0").starts_with("MASTER_PORT=0 is not"));
        assert!(error("SLURM_PROCID=0").starts_with("SLURM_NTASKS is not set"));
        let lost = "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0";
        assert!(error(lost).starts_with("MASTER_ADDR is not set: srun"));
    }

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, first) in [
            ("gpu1", "gpu1"),
            ("gpu1,gpu2", "gpu1"),
            ("gpu[1-4]", "gpu1"),
            ("gpu[007,009-012]-ib,x", "gpu007-ib"),
            ("r[1-2]n[03-04]", "r1n03"),
        ] {
            assert_eq!(first_host(list), first);
        }
    }
}

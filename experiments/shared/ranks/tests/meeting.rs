//! Ranks that meet over real TCP: as threads of this process, and as processes of their own
//! where one of them is to die.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use ranks::{Hello, Launched, Place, Team};

/// A time-out that comes, and one that a test would wait for in vain.
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_hours(1);

fn place(listener: &TcpListener, rank: usize, ranks: usize) -> Place {
    let port = listener.local_addr().unwrap().port();
    Place { rank, local_rank: rank, ranks, host: "127.0.0.1".to_owned(), port }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn hello(device: impl ToString, version: &str) -> Hello {
    let same = vec![("NCCL".to_owned(), version.to_owned())];
    Hello { device: device.to_string(), same }
}

fn nobody_is_lost(_: usize, why: &str) -> ! {
    panic!("{why}")
}

/// Rank 0 of so many waits for the others.
fn gather(listener: TcpListener, ranks: usize, hello: Hello, patience: Duration) -> Result<Team> {
    let place = place(&listener, 0, ranks);
    Team::gather(&place, listener, Launched::default(), hello, patience, nobody_is_lost)
}

/// Another rank, in a thread that joins the team and does what `then` says.
fn other<T: Send + 'static>(
    listener: &TcpListener,
    (rank, ranks): (usize, usize),
    then: impl FnOnce(Team) -> T + Send + 'static,
) -> JoinHandle<T> {
    let place = place(listener, rank, ranks);
    let hello = Ok(hello(rank, "2"));
    thread::spawn(move || then(Team::join(&place, hello, LONG, nobody_is_lost).unwrap()))
}

/// Ranks of these numbers try to meet, the first as rank 0; what each was told.
fn meet(ranks: usize, hellos: Vec<(usize, Result<Hello, String>)>) -> Vec<String> {
    let patience = if hellos.len() < ranks { SHORT } else { LONG };
    let listener = listener();
    let told = |met: Result<()>| met.map_or_else(|e| e.to_string(), |()| "met".into());
    let others = hellos[1..].iter().cloned().map(|(rank, hello)| {
        let place = place(&listener, rank, ranks);
        thread::spawn(move || {
            let team = Team::join(&place, hello, patience, nobody_is_lost);
            told(team.and_then(|team| team.follow(|_: &()| Ok(()))))
        })
    });
    let others: Vec<_> = others.collect();
    let met = gather(listener, ranks, hellos[0].1.clone().unwrap(), patience);
    let mut all = vec![told(met.map(Team::end))];
    all.extend(others.into_iter().map(|other| other.join().unwrap()));
    all
}

#[test]
fn all_do_what_rank_0_says_and_answer_in_order() {
    let listener = listener();
    let others = [2, 1, 3].map(|rank| {
        other(&listener, (rank, 4), move |team| {
            let mut orders = vec![];
            let obey = |order: &usize| {
                orders.push(*order);
                Ok(rank * 100 + order)
            };
            team.follow(obey).unwrap();
            orders
        })
    });
    let mut team = gather(listener, 4, hello(0, "2"), LONG).unwrap();
    assert_eq!((team.ranks(), team.hosts()), (4, 1));
    for order in 0..50_usize {
        let answers = team.order(&order, |order| Ok(*order)).unwrap();
        assert_eq!(answers, [order, 100 + order, 200 + order, 300 + order]);
    }
    team.end();
    for orders in others {
        assert_eq!(orders.join().unwrap(), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn an_answer_of_another_type_is_told_with_its_rank() {
    let listener = listener();
    let other = other(&listener, (1, 2), |team| team.follow(|_: &()| Ok("text")).unwrap());
    let mut team = gather(listener, 2, hello(0, "2"), LONG).unwrap();
    let error = team.order(&(), |()| Ok(0)).unwrap_err().to_string();
    assert!(error.starts_with("rank 1 (process "), "{error}");
    assert!(error.contains(" sent an answer of another type: invalid type: string"), "{error}");
    assert!(error.ends_with("; do all ranks run the same build?"), "{error}");
    drop(team);
    other.join().unwrap(); // its listening thread was told, and panicked
}

#[test]
fn a_rank_that_does_not_come_is_named_to_all_that_did() {
    let hellos = [0, 1, 3].map(|rank| (rank, Ok(hello(rank, "2"))));
    for told in meet(5, hellos.into()) {
        assert!(told.starts_with("ranks 2, 4 of 5 did not come to 127.0.0.1:"), "{told}");
        assert!(told.ends_with("within 2 s"), "{told}");
    }
}

#[test]
fn without_a_rank_0_the_others_say_where_they_looked() {
    let listener = listener();
    let place = place(&listener, 1, 2);
    drop(listener);
    let joined = Team::join(&place, Ok(hello(1, "2")), SHORT, nobody_is_lost);
    let error = joined.err().unwrap().to_string();
    assert!(error.starts_with("rank 1 found no rank 0 at 127.0.0.1:"), "{error}");
    assert!(error.contains(" within 2 s: Connection refused"), "{error}");
}

#[test]
fn ranks_that_do_not_fit_together_are_told_why() {
    let of = |rank, device: &str, version: &str| (rank, Ok(hello(device, version)));
    let unable = Err("it has no GPU".to_owned());
    for (others, first, last) in [
        (vec![of(1, "b", "2")], "rank 1 (", ": 2, not 1"),
        (vec![of(1, "a", "1")], "rank 0 (", " a: each rank needs one of its own"),
        (vec![(1, unable)], "rank 1 (", " cannot take part: it has no GPU"),
        (vec![of(1, "b", "1"), of(1, "c", "1")], "rank 1 (", " have the same rank"),
    ] {
        let all = [vec![of(0, "a", "1")], others].concat();
        for told in meet(all.len(), all) {
            assert!(told.starts_with(first) && told.ends_with(last), "{told}");
        }
    }
}

#[test]
fn strangers_at_the_port_disturb_nobody() {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let mut strangers: Vec<_> = (0..80).map(|_| TcpStream::connect(address).unwrap()).collect();
    strangers[0].write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // A message that is longer than any, and one that is nearly right.
    strangers[1].write_all(&[&b"{\"Stop\":\""[..], &[b'x'; 100_000]].concat()).unwrap();
    strangers[2].write_all(br#"{"Join":{"who":{"rank":18446744073709551615}}}"#).unwrap();
    let obey = |order: &u32| Ok(*order);
    let other = other(&listener, (1, 2), move |team| team.follow(obey).unwrap());
    let mut team = gather(listener, 2, hello(0, "2"), LONG).unwrap();
    assert_eq!(team.order(&7, |order| Ok(*order)).unwrap(), [7, 7]);
    team.end();
    other.join().unwrap();
}

#[test]
fn a_host_by_its_name_is_reached_from_others() {
    // `127.1` stands for a name that /etc/hosts gives a loopback address.
    for (host, loopback) in [("localhost", true), ("127.0.0.1", true), ("127.1", false)] {
        let place = Place { rank: 0, local_rank: 0, ranks: 2, host: host.to_owned(), port: 0 };
        let listens = Team::listen(&place).unwrap().local_addr().unwrap().ip();
        assert_eq!(listens.is_loopback(), loopback, "{host}: {listens}");
        assert_eq!(listens.is_unspecified(), !loopback, "{host}: {listens}");
    }
}

// The rest needs processes: this test program again, as a rank of a team.

const FAULT: &str = "RANKS_TEST_FAULT";
const FAULTY: &str = "RANKS_TEST_FAULTY";

/// What those processes do: orders without end, 20 ms each. At the tenth one, the faulty rank
/// shows its fault.
#[test]
#[ignore = "runs in a process of its own: see below"]
fn rank() {
    let fault = std::env::var(FAULT).unwrap();
    let place = Place::from_environment().unwrap().unwrap();
    let faulty = std::env::var(FAULTY).unwrap() == place.rank.to_string();
    let obey = |order: &u32| {
        if place.rank == 0 && *order == 0 {
            println!("\nall met"); // on a line of its own
        }
        if *order == 10 {
            match fault.as_str() {
                "stuck" if faulty => thread::sleep(Duration::MAX),
                // A collective operation: rank 0 does not return from it, either.
                "stuck collective" if faulty || place.rank == 0 => {
                    thread::sleep(Duration::MAX);
                }
                "error" if faulty => anyhow::bail!("the GPU fell off the bus"),
                _ => {}
            }
        }
        thread::sleep(Duration::from_millis(20));
        Ok(*order)
    };
    fn lost(_: usize, why: &str) -> ! {
        eprintln!("lost: {why}");
        std::process::exit(9)
    }
    let (hello, patience) = (hello(place.rank, "2"), ranks::patience().unwrap());
    let outcome = if place.rank == 0 {
        let (listener, launched) = (Team::listen(&place).unwrap(), Launched::default());
        let mut team = Team::gather(&place, listener, launched, hello, patience, lost).unwrap();
        (0..).try_for_each(|order: u32| team.order(&order, obey).map(drop))
    } else {
        Team::join(&place, Ok(hello), patience, lost).unwrap().follow(obey)
    };
    eprintln!("error: {:#}", outcome.unwrap_err());
    std::process::exit(8);
}

/// The processes of a team that has met, killed at the end if they still live.
struct Processes(Vec<Child>);

impl Processes {
    fn start(fault: &str, faulty: usize, patience: Duration) -> Processes {
        // Below the ports that the system gives to others, and for each team another one.
        static TEAMS: AtomicU32 = AtomicU32::new(0);
        let team = 64 * std::process::id() + TEAMS.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + team % 20_000;
        let start = |rank: usize| {
            Command::new(std::env::current_exe().unwrap())
                .args(["rank", "--exact", "--ignored", "--nocapture"])
                .env(FAULT, fault)
                .env(FAULTY, faulty.to_string())
                .env("WORKBOOK_PATIENCE", patience.as_secs().to_string())
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", "3")
                .env("MASTER_ADDR", "localhost")
                .env("MASTER_PORT", port.to_string())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut team = Processes([0, 1, 2].map(start).into());
        let said = BufReader::new(team.0[0].stdout.take().unwrap());
        let met = said.lines().any(|line| line.unwrap() == "all met");
        assert!(met, "rank 0 ended too early");
        team
    }

    fn signal(&self, rank: usize, signal: &str) {
        let process = self.0[rank].id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// What these ranks say last.
    fn last_words<const N: usize>(mut self, ranks: [usize; N]) -> [String; N] {
        ranks.map(|rank| {
            let child = &mut self.0[rank];
            let mut words = String::new();
            child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
            let code = child.wait().unwrap().code();
            assert!(matches!(code, Some(8 | 9)), "rank {rank}: {code:?}: {words}");
            words
        })
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_rank_that_dies_is_named_by_all_others_at_once() {
    for [dies, a, b] in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
        let team = Processes::start("none", dies, LONG);
        let process = team.0[dies].id();
        team.signal(dies, "-KILL");
        for words in team.last_words([a, b]) {
            let gone = format!("lost: rank {dies} (process {process} on ");
            assert!(words.starts_with(&gone), "{words}");
            let closed = [" closed, so its process ended\n", " reset by peer (os error 104)\n"];
            assert!(closed.iter().any(|why| words.contains(why)), "{words}");
        }
    }
}

#[test]
fn a_rank_that_stands_still_is_named_after_the_time_out() {
    for [stands, a, b] in [[0, 1, 2], [1, 0, 2]] {
        let team = Processes::start("none", stands, SHORT);
        team.signal(stands, "-STOP");
        for words in team.last_words([a, b]) {
            assert!(words.starts_with(&format!("lost: rank {stands} (process ")), "{words}");
            let whys = ["gave no order for 4 s", "not finish what it was told within 2 s"];
            assert!(words.contains(whys[stands.min(1)]), "{words}");
        }
    }
}

#[test]
fn a_rank_that_does_not_finish_is_named_after_the_time_out() {
    for words in Processes::start("stuck", 2, SHORT).last_words([0, 1]) {
        assert!(words.starts_with("lost: rank 2 (process "), "{words}");
        assert!(words.contains("did not finish what it was told within 2 s"), "{words}");
    }
    for words in Processes::start("stuck collective", 2, SHORT).last_words([0, 1, 2]) {
        assert!(words.starts_with("lost: rank 0 (process "), "{words}");
        assert!(words.contains(", rank 2 (process "), "{words}");
        assert!(words.contains("did not finish what it was told within 2 s"), "{words}");
    }
}

#[test]
fn a_rank_that_fails_tells_all_why() {
    let words = Processes::start("error", 1, LONG).last_words([1, 0, 2]);
    assert!(words[0].starts_with("error: the GPU fell off the bus"), "{words:?}");
    for words in &words[1..] {
        assert!(words.starts_with("lost: rank 1 (process "), "{words}");
        assert!(words.contains(" failed: the GPU fell off the bus"), "{words}");
    }
    let words = Processes::start("error", 0, LONG).last_words([0, 1, 2]);
    assert!(words[0].starts_with("error: the GPU fell off the bus"), "{words:?}");
    for words in &words[1..] {
        assert!(words.contains(" failed; its own output says why"), "{words}");
    }
}

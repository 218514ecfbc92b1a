//! Ranks that meet over real TCP: as threads of this process, and as processes of their own
//! where one of them is to die.

#![allow(clippy::unwrap_used)] // helpers of tests may panic as tests do

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use ranks::{Card, Conductor, Error, Follower, Launched, Place};

/// A time-out that comes, and one that a test would wait for in vain.
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_hours(1);

fn place(listener: &TcpListener, rank: usize, ranks: usize) -> Place {
    let port = listener.local_addr().unwrap().port();
    let host = "127.0.0.1".to_owned();
    Place { rank, local_rank: rank, ranks, host, port, secret: None }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn card(device: impl ToString, same: &[(&str, &str)]) -> Card {
    let same = same.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Card { device: device.to_string(), same }
}

/// Ranks with these cards try to meet, the first as rank 0; what each was told.
fn meet(ranks: usize, cards: Vec<(usize, Result<Card, String>)>) -> Vec<String> {
    let patience = if cards.len() < ranks { SHORT } else { LONG };
    let listener = listener();
    let told = |met: Result<(), Error>| met.map_or_else(|e| e.to_string(), |()| "met".into());
    let followers = cards[1..].iter().cloned().map(|(rank, card)| {
        let place = place(&listener, rank, ranks);
        thread::spawn(move || told(Follower::join(&place, card, patience, |_| {}).map(drop)))
    });
    let followers: Vec<_> = followers.collect();
    let place = place(&listener, 0, ranks);
    let card = cards[0].1.clone().unwrap();
    let launched = Launched::default();
    let met = Conductor::gather(&place, listener, launched, card, patience, |_| {});
    let mut all = vec![told(met.map(Conductor::end))];
    all.extend(followers.into_iter().map(|f| f.join().unwrap()));
    all
}

#[test]
fn all_do_what_rank_0_says_and_answer_in_order() {
    let listener = listener();
    let lost = |why: &str| panic!("{why}");
    let followers = [2, 1, 3].map(|rank| {
        let place = place(&listener, rank, 4);
        thread::spawn(move || {
            let card = Ok(card(rank, &[("NCCL", "2.28.3")]));
            let follower = Follower::join(&place, card, LONG, lost).unwrap();
            let mut orders = vec![];
            let obey = |order: &usize| {
                orders.push(*order);
                Ok(place.rank * 100 + order)
            };
            follower.follow(obey).unwrap();
            orders
        })
    });
    let place = place(&listener, 0, 4);
    let card = card(0, &[("NCCL", "2.28.3")]);
    let launched = Launched::default();
    let team = Conductor::gather(&place, listener, launched, card, LONG, lost);
    let mut team = team.unwrap();
    assert_eq!((team.ranks(), team.hosts()), (4, 1));
    for order in 0..50_usize {
        let answers = team.order(&order, |order| Ok(*order)).unwrap();
        assert_eq!(answers, [order, 100 + order, 200 + order, 300 + order]);
    }
    team.end();
    for orders in followers {
        assert_eq!(orders.join().unwrap(), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_rank_that_does_not_come_is_named_to_all_that_did() {
    let cards = [0, 1, 3].map(|rank| (rank, Ok(card(rank, &[]))));
    for told in meet(5, cards.into()) {
        assert!(told.starts_with("ranks 2, 4 of 5 did not come to 127.0.0.1:"), "{told}");
        assert!(told.ends_with("within 2 s"), "{told}");
    }
}

#[test]
fn without_a_rank_0_the_others_say_where_they_looked() {
    let listener = listener();
    let place = place(&listener, 1, 2);
    drop(listener);
    let joined = Follower::join(&place, Ok(card(1, &[])), SHORT, |_| {});
    let error = joined.err().unwrap().to_string();
    assert!(error.starts_with("rank 1 found no rank 0 at 127.0.0.1:"), "{error}");
}

#[test]
fn another_version_is_told_with_its_rank() {
    let cards = ["2.28.3", "2.28.3", "2.30.4"].map(|version| [("NCCL", version)]);
    let cards = cards.iter().enumerate().map(|(rank, same)| (rank, Ok(card(rank, same))));
    for told in meet(3, cards.collect()) {
        assert!(told.starts_with("rank 2 (process "), "{told}");
        assert!(told.contains(" has a different NCCL from rank 0 (process "), "{told}");
        assert!(told.ends_with(": 2.30.4, not 2.28.3"), "{told}");
    }
    let none = vec![(0, Ok(card(0, &[("NCCL", "2.28.3")]))), (1, Ok(card(1, &[("other", "1")])))];
    for told in meet(2, none) {
        assert!(told.ends_with(": none, not 2.28.3"), "{told}");
    }
}

#[test]
fn nobody_has_the_rank_or_the_device_of_another() {
    let device = [0, 1].map(|rank| (rank, Ok(card("GPU a", &[]))));
    for told in meet(2, device.into()) {
        assert!(told.starts_with("rank 0 (process "), "{told}");
        assert!(told.contains(" use the same GPU a: "), "{told}");
    }
    let rank = [0, 1, 1].map(|rank| (rank, Ok(card(rank, &[]))));
    for told in meet(3, rank.into()) {
        assert!(told.ends_with(" have the same rank"), "{told}");
    }
    let rank_0 = [0, 0].map(|rank| (rank, Ok(card(rank, &[]))));
    for told in meet(2, rank_0.into()) {
        assert!(told.ends_with(" are both rank 0"), "{told}");
    }
}

#[test]
fn a_rank_that_cannot_take_part_tells_all_why() {
    let cards = vec![(0, Ok(card(0, &[]))), (1, Err("it has no GPU".to_owned()))];
    for told in meet(2, cards) {
        assert!(told.ends_with(" cannot take part: it has no GPU"), "{told}");
    }
}

#[test]
fn a_stranger_at_the_port_disturbs_nobody() {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let silent = TcpStream::connect(address).unwrap();
    let mut chatty = TcpStream::connect(address).unwrap();
    chatty.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let there = place(&listener, 1, 2);
    let follower = thread::spawn(move || {
        let joined = Follower::join(&there, Ok(card(1, &[])), LONG, |_| {});
        joined.unwrap().follow(|order: &u32| Ok(*order)).unwrap();
    });
    let (here, launched, card) = (place(&listener, 0, 2), Launched::default(), card(0, &[]));
    let team = Conductor::gather(&here, listener, launched, card, LONG, |_| {});
    let mut team = team.unwrap();
    assert_eq!(team.order(&7, |order| Ok(*order)).unwrap(), [7, 7]);
    team.end();
    follower.join().unwrap();
    drop((silent, chatty));
}

/// Strangers who speak as ranks do, and more of them than are heard at a time.
#[test]
fn nobody_is_a_rank_without_the_secret() {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let silent: Vec<_> = (0..80).map(|_| TcpStream::connect(address).unwrap()).collect();
    let known = |rank| {
        let secret = Some("of this run".to_owned());
        Place { secret, ..place(&listener, rank, 2) }
    };
    let [here, there] = [known(0), known(1)];
    let forged = ["a guess", "", "of this run, or not"].map(|guess| {
        let secret = (!guess.is_empty()).then(|| guess.to_owned());
        let there = Place { secret, ..there.clone() };
        thread::spawn(move || {
            let joined = Follower::join(&there, Ok(card(0, &[])), LONG, |_| {});
            joined.err().unwrap().to_string()
        })
    });
    let conductor = thread::spawn(move || {
        let launched = Launched::default();
        let met = Conductor::gather(&here, listener, launched, card(0, &[]), LONG, |_| {});
        let mut team = met.unwrap();
        assert_eq!(team.order(&7, |order| Ok(*order)).unwrap(), [7, 7]);
        team.end();
    });
    for told in forged {
        let told = told.join().unwrap();
        assert!(told.contains("does not have the secret of rank 0"), "{told}");
    }
    let joined = Follower::join(&there, Ok(card(1, &[])), LONG, |_| {});
    joined.unwrap().follow(|order: &u32| Ok(*order)).unwrap();
    conductor.join().unwrap();
    drop(silent);
}

#[test]
fn a_host_by_its_name_is_reached_from_others() {
    // `127.1` stands for a name that /etc/hosts gives a loopback address.
    for (host, loopback) in [("localhost", true), ("127.0.0.1", true), ("127.1", false)] {
        let place = Place {
            rank: 0,
            local_rank: 0,
            ranks: 2,
            host: host.to_owned(),
            port: 0,
            secret: None,
        };
        let listens = Conductor::listen(&place).unwrap().local_addr().unwrap().ip();
        assert_eq!(listens.is_loopback(), loopback, "{host}: {listens}");
        assert_eq!(listens.is_unspecified(), !loopback, "{host}: {listens}");
    }
}

// The rest needs processes: this test program again, as a rank of a team.

const FAULT: &str = "RANKS_TEST_FAULT";
const FAULTY: &str = "RANKS_TEST_FAULTY";
const PATIENCE: &str = "RANKS_TEST_PATIENCE";

/// Not a test by itself, but what those processes do: orders without end, 20 ms each. At the
/// tenth one, the faulty rank shows its fault.
#[test]
fn rank() {
    let Ok(fault) = std::env::var(FAULT) else { return };
    let place = Place::from_environment().unwrap().unwrap();
    let faulty = std::env::var(FAULTY).unwrap() == place.rank.to_string();
    let patience = std::env::var(PATIENCE).unwrap().parse().unwrap();
    let patience = Duration::from_secs(patience);
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
    let lost = |why: &str| {
        eprintln!("lost: {why}");
        std::process::exit(9);
    };
    let card = card(place.rank, &[]);
    let outcome = if place.rank == 0 {
        let (listener, launched) = (Conductor::listen(&place).unwrap(), Launched::default());
        let team = Conductor::gather(&place, listener, launched, card, patience, lost);
        let mut team = team.unwrap();
        (0..).try_for_each(|order: u32| team.order(&order, obey).map(drop))
    } else {
        Follower::join(&place, Ok(card), patience, lost).unwrap().follow(obey)
    };
    eprintln!("error: {:#}", outcome.unwrap_err());
    std::process::exit(8);
}

/// The processes of a team that has met, killed at the end if they still live.
struct Team(Vec<Child>);

impl Team {
    fn start(fault: &str, faulty: usize, patience: Duration) -> Team {
        // Below the ports that the system gives to others, and for each team another one.
        static TEAMS: AtomicU32 = AtomicU32::new(0);
        let team = 64 * std::process::id() + TEAMS.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + team % 20_000;
        let start = |rank: usize| {
            Command::new(std::env::current_exe().unwrap())
                .args(["rank", "--exact", "--nocapture"])
                .env(FAULT, fault)
                .env(FAULTY, faulty.to_string())
                .env(PATIENCE, patience.as_secs().to_string())
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
        let mut team = Team([0, 1, 2].map(start).into());
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

impl Drop for Team {
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
        let team = Team::start("none", dies, LONG);
        let process = team.0[dies].id();
        team.signal(dies, "-KILL");
        for words in team.last_words([a, b]) {
            let gone = format!("lost: rank {dies} (process {process} on ");
            assert!(words.starts_with(&gone), "{words}");
            let closed = " is gone: its connection closed, so its process ended\n";
            assert!(words.ends_with(closed), "{words}");
        }
    }
}

#[test]
fn a_rank_that_stands_still_is_named_after_the_time_out() {
    for [stands, a, b] in [[0, 1, 2], [1, 0, 2]] {
        let team = Team::start("none", stands, SHORT);
        team.signal(stands, "-STOP");
        for words in team.last_words([a, b]) {
            assert!(words.starts_with(&format!("lost: rank {stands} (process ")), "{words}");
            let whys = ["gave no sign of life for 2 s", "not finish what it was told"];
            assert!(whys.iter().any(|why| words.contains(why)), "{words}");
        }
    }
}

#[test]
fn a_rank_that_does_not_finish_is_named_after_the_time_out() {
    for words in Team::start("stuck", 2, SHORT).last_words([0, 1]) {
        assert!(words.starts_with("lost: rank 2 (process "), "{words}");
        assert!(words.contains("did not finish what it was told within 2 s"), "{words}");
    }
    for words in Team::start("stuck collective", 2, SHORT).last_words([0, 1, 2]) {
        let still = "lost: nothing happened for 3 s on rank 0; these have not finished what \
                     they were told: rank 2 (process ";
        assert!(words.starts_with(still), "{words}");
    }
}

#[test]
fn a_rank_that_fails_tells_all_why() {
    let words = Team::start("error", 1, LONG).last_words([1, 0, 2]);
    assert!(words[0].starts_with("error: the GPU fell off the bus"), "{words:?}");
    for words in &words[1..] {
        assert!(words.starts_with("lost: rank 1 (process "), "{words}");
        assert!(words.contains(" failed: the GPU fell off the bus"), "{words}");
    }
    let words = Team::start("error", 0, LONG).last_words([0, 1, 2]);
    assert!(words[0].starts_with("error: the GPU fell off the bus"), "{words:?}");
    for words in &words[1..] {
        assert!(words.contains(" failed; its own output says why"), "{words}");
    }
}

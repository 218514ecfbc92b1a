//! How long a run will take.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use emulator::{Arguments, Launch, Memory, Module, Options};
use lessons::Lesson;
use record::{Record, Results, Source};

use super::summary;

/// How long each experiment takes on the emulated GPU: so many times as long as [`yardstick`].
/// `cargo workbook run --weigh` makes the table.
const TABLE: &str = "book/workbook/src/run/emulated.toml";
const EMULATED: &str = include_str!("emulated.toml");
/// A kernel whose warps access both memories and wait at barriers: `tile_padded`.
const PTX: &str = include_str!("../../../../kernels/ptx/transpose.ptx");

/// Seconds that a case takes on a GPU beside its samples: preparation, warm-up, checks.
const BESIDE_SAMPLES: f64 = 0.3;
/// A quick run of all takes this share of a full one's time.
const QUICK: f64 = 0.2;

/// Seconds that this machine's emulated GPU takes for a launch that is the same everywhere.
fn yardstick() -> Result<f64> {
    const SIDE: u32 = 1024;
    let module = Module::parse(PTX)?;
    let mut memory = Memory::new(1 << 24);
    let mut arguments = Arguments::new();
    for name in ["from", "to"] {
        let (bytes, pattern) = (4 * u64::from(SIDE * SIDE), [1, 2, 3, 4]);
        let address = memory.allocate(bytes, name)?;
        memory.fill(address, &pattern, bytes / 4)?;
        arguments = arguments.with(address.to_le_bytes());
    }
    let arguments = arguments.with(SIDE.to_le_bytes()).with(SIDE.to_le_bytes());
    let launch = Launch::new([SIDE / 32, SIDE / 32, 1], [32, 32, 1], arguments.bytes());
    let start = Instant::now();
    emulator::run(&module, "tile_padded", &launch, &mut memory, &Options::default())?;
    Ok(start.elapsed().as_secs_f64())
}

/// The same where so many `workers` launch at a time, as a run's do: cores share what is in them,
/// and memory.
fn pace(workers: usize) -> Result<f64> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| Ok((yardstick()?, yardstick()?).1))) // the first one warms up
            .collect();
        let count = workers.len() as f64;
        let times = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        Ok(times.sum::<Result<f64>>()? / count)
    })
}

/// Seconds that each experiment is expected to take: on so many `gpus` by the records of the
/// reference machines, without any on the emulated one, so many `workers` at a time, by the table.
pub(super) fn seconds(
    wanted: &[Lesson],
    results: &Results,
    gpus: Option<usize>,
    workers: usize,
    quick: bool,
) -> Result<Vec<f64>> {
    let Some(gpus) = gpus else {
        let table: BTreeMap<String, f64> = toml::from_str(EMULATED)?;
        let mean = table.values().sum::<f64>() / table.len().max(1) as f64;
        let pace = pace(workers)?;
        let times = |lesson: &Lesson| table.get(&lesson.name).copied().unwrap_or(mean);
        return Ok(wanted.iter().map(|lesson| times(lesson) * pace).collect());
    };
    let references = results.references()?;
    let share = if quick { QUICK } else { 1.0 };
    let times = |lesson: &Lesson| match lesson.gpus as usize <= gpus {
        true => share * measured(results, &references, &lesson.name),
        false => 0.0, // it cannot run
    };
    Ok(wanted.iter().map(times).collect())
}

/// The weighing of one experiment, by CPU time: other programs do not matter.
pub(super) struct Scale {
    yardstick: f64,
    before: f64,
}

impl Scale {
    /// Before the experiment.
    pub(super) fn new() -> Result<Scale> {
        const TIMES: u32 = 8; // Linux tells hundredths of a second
        let [start, before] = cpu_seconds()?;
        (0..TIMES).try_for_each(|_| yardstick().map(drop))?;
        let yardstick = (cpu_seconds()?[0] - start) / f64::from(TIMES);
        Ok(Scale { yardstick, before })
    }

    /// After it: how many times as long as the yardstick it took.
    pub(super) fn weight(&self) -> Result<f64> {
        Ok((cpu_seconds()?[1] - self.before) / self.yardstick)
    }
}

/// The CPU time of this process, and of those that it has waited for, as Linux tells it.
fn cpu_seconds() -> Result<[f64; 2]> {
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat")?;
    let fields = fields.split(' ').skip(11).map_while(|field| field.parse::<f64>().ok());
    let [user, system, users, systems] = fields.take(4).collect::<Vec<_>>()[..] else {
        bail!("/proc/self/stat has no times");
    };
    Ok([(user + system) / TICKS, (users + systems) / TICKS])
}

pub(super) fn store<'n>(root: &Path, weights: impl Iterator<Item = (&'n str, f64)>) -> Result<()> {
    let lines: String = weights.map(|(name, weight)| format!("{name} = {weight:.1}\n")).collect();
    std::fs::write(root.join(TABLE), lines).context(TABLE)
}

/// What the first reference machine that has recorded an experiment took for it.
fn measured(results: &Results, references: &[String], name: &str) -> f64 {
    let runs = references.iter().filter_map(|machine| Some((machine, results.runs(machine).ok()?)));
    let mut records =
        runs.flat_map(|(machine, runs)| runs.into_iter().map(move |run| (machine, run)));
    let measured = |record: &Record| record.source == Source::Measured;
    let record = records.find_map(|(machine, run)| run.read(machine, name).ok()?.filter(measured));
    record.map_or(0.0, |record| {
        let sampled = record
            .measurements
            .iter()
            .map(|m| f64::from(m.operations_per_sample) * m.seconds.iter().sum::<f64>());
        sampled.sum::<f64>() + BESIDE_SAMPLES * record.measurements.len() as f64
    })
}

/// How long tasks that take so many `seconds` take, if each goes, in this order, to the first of
/// the `workers` that is free.
pub(super) fn together(seconds: impl Iterator<Item = f64>, workers: usize) -> Duration {
    let mut busy = vec![0.0; workers];
    for task in seconds {
        if let Some(first) = busy.iter_mut().min_by(|a: &&mut f64, b| a.total_cmp(b)) {
            *first += task;
        }
    }
    Duration::from_secs_f64(busy.into_iter().fold(0.0, f64::max))
}

/// What is said of the time that is left after experiments that take `done`, if those to come
/// take `to_come`: nothing while there is little to go by, or if it is less than a minute.
pub(super) fn left(elapsed: Duration, done: f64, to_come: f64) -> String {
    let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * to_come / done);
    match left {
        Ok(left) if done > to_come / 20.0 && left >= Duration::from_secs(60) => {
            format!(", about {} left", summary::duration(left))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_has_every_experiment_but_drafts() {
        let mut lessons = lessons::all(&lab::workspace::root().unwrap()).unwrap();
        lessons.retain(|lesson| !lesson.draft);
        let names: BTreeSet<String> = lessons.into_iter().map(|lesson| lesson.name).collect();
        let table: BTreeMap<String, f64> = toml::from_str(EMULATED).unwrap();
        let known: BTreeSet<String> = table.into_keys().collect();
        assert_eq!(known, names, "{TABLE}: cargo workbook run --emulate --weigh");
    }

    #[test]
    fn whoever_is_free_first_takes_the_next() {
        let took = |workers| together([4.0, 3.0, 2.0, 2.0].into_iter(), workers).as_secs();
        assert_eq!([took(1), took(2), took(3), took(9)], [11, 6, 4, 4]);
    }
}

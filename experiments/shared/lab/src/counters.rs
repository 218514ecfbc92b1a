//! Hardware counters instead of times: `--counters`.
//!
//! The program starts itself again under Nsight Compute (`ncu`). There it goes through
//! the same lesson, but each case that is timed on the GPU runs once inside a *window*
//! that the profiler sees: a kernel that does nothing marks where the window starts.
//! Then the first program reads what ncu counted, gives each case the counts of its
//! window, and writes the record `<experiment>-counters`.
//!
//! The hardware counts a few things at once, so ncu runs the lesson several times. It
//! empties the caches before each kernel: the counts are those of a cold start.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, sys};
use cudarc::nvrtc::Ptx;
use record::Record;

use crate::emulator::Counts;
use crate::options::INTERRUPTED;
use crate::timing::UNGATED;

/// What is counted: our name, and ncu's.
pub const COUNTERS: [(&str, &str); 17] = [
    ("global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("l1_load_hit_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"),
    ("global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("shared_load_requests", "smsp__inst_executed_op_shared_ld.sum"),
    ("shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("shared_store_requests", "smsp__inst_executed_op_shared_st.sum"),
    ("shared_store_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ("l2_read_sectors", "lts__t_sectors_srcunit_tex_op_read.sum"),
    ("l2_write_sectors", "lts__t_sectors_srcunit_tex_op_write.sum"),
    ("dram_read_bytes", "dram__bytes_read.sum"),
    ("dram_write_bytes", "dram__bytes_write.sum"),
    ("l1_wavefronts_percent", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"),
    ("l2_tags_percent", "lts__t_tag_requests.avg.pct_of_peak_sustained_elapsed"),
    ("l2_sectors_percent", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"),
    ("dram_active_percent", "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"),
];

/// What is appended to an experiment's name for its counters.
pub const SUFFIX: &str = "-counters";

/// Set in the program that ncu runs: where it leaves its record, whose cases have the
/// number of their window in place of counters.
const SKELETON: &str = "WORKBOOK_COUNTERS";
/// The placeholder for a case's counters in that record.
const WINDOW: &str = "window";
/// The kernel that starts a window.
const MARKER: &str = "workbook_window";

/// Where the program under ncu leaves its record; `None` in every other program. ncu runs it
/// several times, so its record may be there; another file is not to be overwritten.
pub(crate) fn skeleton() -> Result<Option<PathBuf>> {
    let Some(path) = std::env::var_os(SKELETON).map(PathBuf::from) else {
        return Ok(None);
    };
    let is_skeleton = |record: Record| {
        let mut counters = record.measurements.iter().map(|m| &m.counters);
        let one = counters.len() > 0;
        one && counters.all(|counters| counters.keys().eq([WINDOW]))
    };
    let exists = path.symlink_metadata().is_ok();
    if exists && !record::file::read(&path).is_ok_and(is_skeleton) {
        bail!(
            "{SKELETON} names {}, which something else has made: unset the variable, which \
             only --counters itself should set",
            path.display()
        );
    }
    Ok(Some(path))
}

/// The counters of a case that ran in the window called `number`, before they are known.
pub(crate) fn placeholder(number: u64) -> Counts {
    Counts::from([(WINDOW.to_owned(), number)])
}

/// Opens windows for the profiler, in the program that it watches.
pub(crate) struct Windows {
    marker: CudaFunction,
    opened: u64,
}

impl Windows {
    pub(crate) fn new(context: &std::sync::Arc<CudaContext>) -> Result<Windows> {
        let ptx = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n\
             .visible .entry {MARKER}() {{ ret; }}\n"
        );
        let module = context.load_module(Ptx::from_src(ptx))?;
        Ok(Windows { marker: module.load_function(MARKER)?, opened: 0 })
    }

    /// Runs `work` in a window of its own, to its end; returns the window's number.
    pub(crate) fn watch(
        &mut self,
        stream: &CudaStream,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<u64> {
        stream.synchronize()?;
        // SAFETY: both calls take nothing and only tell an attached profiler.
        unsafe { sys::cuProfilerStart() }.result()?;
        let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel takes no arguments and does nothing.
        unsafe { stream.launch_builder(&self.marker).launch(one) }?;
        work()?;
        stream.synchronize().context("the GPU failed under the profiler")?;
        // SAFETY: as above.
        unsafe { sys::cuProfilerStop() }.result()?;
        self.opened += 1;
        Ok(self.opened - 1)
    }
}

/// Runs this program again under ncu and returns its record with what was counted.
pub(crate) fn count() -> Result<Record> {
    let ncu = find_ncu().context(
        "--counters needs NVIDIA Nsight Compute: `ncu` is not on the PATH, nor in the \
         toolkit. It comes with the CUDA toolkit, and alone from \
         https://developer.nvidia.com/nsight-compute",
    )?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let path = folder.path().to_owned();
    ctrlc::set_handler(move || {
        let _ = std::fs::remove_dir_all(&path); // the program ends, come what may
        std::process::exit(INTERRUPTED.into())
    })?;
    let (report, skeleton) = (folder.path().join("ncu.csv"), folder.path().join("record.json"));
    let metrics = COUNTERS.map(|(_, metric)| metric).join(",");
    let status = Command::new(&ncu)
        .args(["--csv", "--page", "raw", "--print-units", "base"])
        // Only what is inside windows; and nobody's clocks are touched.
        .args(["--profile-from-start", "off", "--clock-control", "none"])
        // Running the lesson again is quicker than saving and restoring its buffers.
        .args(["--replay-mode", "application"])
        .args(["--target-processes", "all", "--metrics", &metrics, "--log-file"])
        .arg(&report)
        .arg(std::env::current_exe().context("which program is this?")?)
        .args(std::env::args_os().skip(1))
        .env(SKELETON, &skeleton)
        .env(UNGATED, "1")
        .stdout(Stdio::null()) // the same lines in every run
        .status()
        .with_context(|| format!("{} does not start", ncu.display()))?;
    let log = std::fs::read_to_string(&report).unwrap_or_default();
    if !status.success() || !skeleton.exists() {
        return Err(explain(&log, status));
    }
    let record = record::file::read(&skeleton)?;
    fill(record, &parse(&log)?)
}

/// `ncu` on the PATH, or in the toolkit.
fn find_ncu() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin"));
    let home = home.filter(|bin| bin.is_absolute());
    let name = if cfg!(windows) { "ncu.bat" } else { "ncu" };
    std::env::split_paths(&path)
        .chain(home)
        .chain([PathBuf::from("/usr/local/cuda/bin")])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Why ncu failed: its own words, and what to do about the usual cause.
fn explain(log: &str, status: ExitStatus) -> anyhow::Error {
    let errors = log.lines().filter(|line| line.starts_with("==ERROR=="));
    let errors = errors.collect::<Vec<_>>().join("\n");
    if errors.contains("ERR_NVGPUCTRPERM") {
        return anyhow::anyhow!(
            "this user may not read the GPU's hardware counters. Run as root, or let the \
             driver allow it to everybody: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        );
    }
    anyhow::anyhow!("nothing was counted ({status}). {errors}")
}

/// Reads ncu's report: the counts of each launch in each window, in order.
fn parse(report: &str) -> Result<Vec<Vec<Counts>>> {
    // Lines that start with == are ncu's remarks; a line of units follows the header.
    let table: Vec<&str> = report.lines().filter(|line| line.starts_with('"')).collect();
    let table = table.join("\n");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().context("ncu's report has no header")?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|field| field == name);
        found.with_context(|| format!("ncu's report has no column `{name}`"))
    };
    let kernel = column("Kernel Name")?;
    let columns = COUNTERS.map(|(name, metric)| Ok((name, column(metric)?)));
    let columns = columns.into_iter().collect::<Result<Vec<_>>>()?;
    let mut windows: Vec<Vec<Counts>> = vec![];
    for row in reader.records().skip(1) {
        let row = row.context("ncu's report is no table")?;
        let name = row.get(kernel).unwrap_or_default();
        if name.starts_with(MARKER) {
            windows.push(vec![]);
            continue;
        }
        let counts = columns.iter().map(|(counter, column)| {
            let text = row.get(*column).unwrap_or_default().replace(',', "");
            let count = text
                .parse::<f64>()
                .with_context(|| format!("ncu counted `{text}` for {counter} of {name}"))?;
            Ok(((*counter).to_owned(), count.round() as u64))
        });
        let counts = counts.collect::<Result<_>>()?;
        windows.last_mut().context("a launch before the first window")?.push(counts);
    }
    Ok(windows)
}

/// Gives each case of `record` the counts of its window. Cases without a kernel, such
/// as the driver's copies, have nothing that ncu could count, and are left out.
fn fill(mut record: Record, windows: &[Vec<Counts>]) -> Result<Record> {
    for measurement in &mut record.measurements {
        let number = measurement.counters.remove(WINDOW).context("no window")?;
        let launches = usize::try_from(number).ok().and_then(|n| windows.get(n));
        let launches = launches.with_context(|| {
            format!("ncu saw {} windows and not number {number}", windows.len())
        })?;
        measurement.counters = together(launches);
    }
    record.measurements.retain(|m| !m.counters.is_empty());
    if record.measurements.is_empty() {
        bail!("this experiment launches no kernel that could be counted");
    }
    Ok(record)
}

/// Counts of several launches add up. A percentage of one launch says nothing about
/// several, so then there are none.
fn together(launches: &[Counts]) -> Counts {
    let mut sum = Counts::new();
    for launch in launches {
        for (name, count) in launch {
            *sum.entry(name.clone()).or_default() += count;
        }
    }
    if launches.len() > 1 {
        sum.retain(|name, _| !name.ends_with("_percent"));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report in ncu's form, with one column of each counter.
    fn report(rows: &[(&str, &str)]) -> String {
        let metrics = COUNTERS.map(|(_, metric)| format!("\"{metric}\"")).join(",");
        let units = COUNTERS.map(|_| "\"sector\"").join(",");
        let mut text = format!(
            "==PROF== Connected to process 1\n\"ID\",\"Kernel Name\",\"Grid Size\",\
             {metrics}\n\"\",\"\",\"\",{units}\n"
        );
        for (kernel, count) in rows {
            let counts = COUNTERS.map(|_| format!("\"{count}\"")).join(",");
            text += &format!("\"0\",\"{kernel}\",\"(1, 1, 1)\",{counts}\n");
        }
        text
    }

    #[test]
    fn launches_fall_into_their_windows() {
        let text = report(&[
            ("workbook_window", "0"),
            ("copy", "1,024"),
            ("workbook_window", "0"),
            ("workbook_window", "0"),
            ("copy", "7"),
            ("scale", "5.4"),
        ]);
        let windows = parse(&text).unwrap();
        let launches: Vec<_> = windows.iter().map(Vec::len).collect();
        assert_eq!(launches, [1, 0, 2]);
        let alone = together(&windows[0]);
        assert_eq!(alone["global_load_sectors"], 1024);
        assert_eq!(alone["dram_active_percent"], 1024);
        let pair = together(&windows[2]);
        assert_eq!(pair["global_load_sectors"], 12);
        assert!(!pair.contains_key("dram_active_percent"));
        assert!(together(&windows[1]).is_empty());
    }

    #[test]
    fn a_report_that_is_none_is_refused() {
        for (text, problem) in [
            (String::new(), "no column `Kernel Name`"),
            (report(&[("copy", "1")]), "before the first window"),
            (report(&[("workbook_window", "0"), ("copy", "n/a")]), "counted `n/a`"),
        ] {
            let error = format!("{:#}", parse(&text).unwrap_err());
            assert!(error.contains(problem), "{error}");
        }
    }
}

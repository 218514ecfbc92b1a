//! What to launch, as options of the command.

use referee::plan::Plan;

/// What to launch, and how.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Options {
    /// The kernel to launch, of a template with its arguments: scale<16> [default: the only one
    /// of the file]
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Blocks along x, y and z, such as 64 or "ceil(n/32),8"
    #[arg(long, value_name = "X,Y,Z")]
    grid: Option<String>,
    /// Threads of a block along x, y and z, such as 256 or 32,8
    #[arg(long, value_name = "X,Y,Z")]
    block: Option<String>,
    /// Bytes of dynamic shared memory of each block
    #[arg(long, value_name = "BYTES")]
    shared: Option<String>,
    /// The next argument of the kernel: a buffer `NAME=TYPE[SIZE]` or `NAME=TYPE[SIZE]:FILL`, where
    /// FILL is zero, ramp, random, permutation, below(N), a number or a file.npy; a number such as
    /// 2, 0.5f, n/2 or, with a name for sizes, rows=1000; or the name of a buffer again
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// What a `__constant__` or `__device__` variable of the file holds at first, as of a buffer:
    /// `weights=f32[9]:ramp`
    #[arg(long, value_name = "VARIABLE=VALUE")]
    symbol: Vec<String>,
    /// A size, such as n=1000003, or several with commas between them; the same name once more
    /// begins another shape, to be tried as well
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// What a buffer has to hold in the end, from a file of NumPy's: out=file.npy
    #[arg(long, value_name = "BUFFER=FILE")]
    expect: Vec<String>,
    /// How far a number may be off, relative to the expected one, or to 1 if that is less
    /// [default: 0.00001; integers are exact]
    #[arg(long, value_name = "X")]
    tolerance: Option<f64>,
    /// Compute capability to compile for [default: 7.5, or what the file's first line says]
    #[arg(long, value_name = "CC")]
    compute: Option<String>,
}

impl From<&Options> for Plan {
    fn from(options: &Options) -> Plan {
        let Options { kernel, grid, block, shared, arg, symbol, set, expect, tolerance, compute } =
            options.clone();
        Plan { kernel, grid, block, shared, arg, symbol, set, expect, tolerance, compute }
    }
}

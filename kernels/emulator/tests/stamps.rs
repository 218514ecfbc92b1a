//! The PTX of these tests is of today's CUDA C: it starts with the hash of its source.

use std::fs;
use std::path::Path;

#[test]
fn ptx_is_of_todays_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut compared = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        let hash = hmac_sha256::Hash::hash(&fs::read(&path).unwrap());
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let ptx = fs::read_to_string(path.with_extension("ptx")).unwrap_or_default();
        let first = ptx.lines().next().unwrap_or_default();
        assert_eq!(
            first,
            format!("// source-sha256: {hash}"),
            "{}: make its PTX again with tests/kernels/compile.py",
            path.display()
        );
        compared += 1;
    }
    assert!(compared >= 3, "{compared}");
}

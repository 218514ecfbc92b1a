//! A learner's or reader's file, as it is read: whatever lies in its place.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};

/// Bytes of a source at most; a header file of CUDA's has more than one MiB.
const MOST_BYTES: u64 = 2 << 20;

/// The text of the file at `path`. The inner error says why no compiler could read it.
pub fn read(path: &Path) -> Result<Result<String, String>> {
    let named = || path.display().to_string();
    if !std::fs::metadata(path).with_context(named)?.is_file() {
        return Ok(Err("it is a folder, a pipe or a device, and no file".to_owned()));
    }
    let mut bytes = vec![];
    let file = File::open(path).with_context(named)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(named)?;
    Ok(text(bytes))
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
    }
    let zeros = |first| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let [even, odd] = [0, 1].map(zeros);
    let has_mark = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let many = even + odd > bytes.len() / 4;
    if has_mark || many && even.min(odd) <= bytes.len() / 32 {
        return Err("it is saved as UTF-16: save it as UTF-8".to_owned());
    }
    if many {
        return Err("it is no text".to_owned());
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        return Err(format!("line {line} has a NUL byte: remove it"));
    }
    // A comment may be in another encoding. Some editors put a mark in front.
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_source_is_told_by_what_it_is() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, said) in [
            (utf16("\u{feff}int a;"), "UTF-16"),
            (utf16("int a;"), "UTF-16"),
            (b"int a;\nint\0 b; // b".to_vec(), "line 2 has a NUL"),
            (vec![0; 64], "no text"),
            (vec![b' '; MOST_BYTES as usize + 1], "larger than 2 MiB"),
        ] {
            let why = text(bytes).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
        assert_eq!(text(b"\xef\xbb\xbfint \xfc;".to_vec()).unwrap(), "int \u{fffd};");
        assert_eq!(text(vec![]).unwrap(), "");
    }

    #[test]
    fn a_folder_is_no_source() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_err());
        assert!(read(&folder.path().join("none")).is_err());
    }
}

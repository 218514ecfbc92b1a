//! Arrays in files, as `numpy.save` writes them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use referee::check::{Element, MOST_BYTES};

use crate::terminal::misused;

/// Bytes of a file's head at most.
const HEAD_BYTES: u64 = 4096;

/// Types of elements, as NumPy writes them; those of one byte have no order.
const TYPES: [(&str, Element); 12] = [
    ("<f2", Element::F16),
    ("<V2", Element::Bf16), // of the package ml_dtypes
    ("<f4", Element::F32),
    ("<f8", Element::F64),
    ("|i1", Element::I8),
    ("|u1", Element::U8),
    ("<i2", Element::I16),
    ("<u2", Element::U16),
    ("<i4", Element::I32),
    ("<u4", Element::U32),
    ("<i8", Element::I64),
    ("<u8", Element::U64),
];

/// The numbers in the file, one after the other, if they have this type.
pub(super) fn read(path: &Path, element: Element) -> Result<Vec<u8>> {
    let name = path.display();
    let mut bytes = vec![];
    let file = File::open(path).with_context(|| name.to_string());
    let file = match file {
        Ok(file) if file.metadata().is_ok_and(|m| m.is_file()) => file,
        Ok(_) => misused!("{name} is no file"),
        Err(e) => misused!("{e:#}"),
    };
    let most = MOST_BYTES + HEAD_BYTES;
    file.take(most + 1).read_to_end(&mut bytes).with_context(|| name.to_string())?;
    if bytes.len() as u64 > most {
        misused!("{name} has more than {} MiB, which no buffer has", MOST_BYTES >> 20);
    }
    let Some((head, numbers)) = parts(&bytes) else {
        misused!("{name} is no array of NumPy's: numpy.save writes one");
    };
    let wanted = TYPES.iter().find(|(_, kind)| *kind == element);
    let wanted = wanted.context("all types have a name")?.0;
    if field(head, "descr") != Some(&format!("'{wanted}'")) {
        let found = field(head, "descr").unwrap_or("unknown").trim_matches('\'');
        misused!("{name} has elements of type {found}, and the buffer has {wanted}");
    }
    if field(head, "fortran_order") != Some("False") {
        misused!("{name} is stored by columns: save numpy.ascontiguousarray of it");
    }
    Ok(numbers.to_vec())
}

/// The head and the numbers.
fn parts(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let ([major, _], rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (u16::from_le_bytes(*length).into(), rest)
        }
        _ => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
    };
    let (head, numbers) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(head).ok()?, numbers))
}

/// A field of the head, which is a dictionary of Python's.
fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let (_, rest) = head.split_once(&format!("'{name}': "))?;
    Some(&rest[..rest.find(',')?])
}

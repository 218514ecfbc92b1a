//! Records in, book out. This crate turns what was measured into numbers, tables,
//! figures and verdicts inside the pages of an mdBook, and refuses to build a book that
//! disagrees with its records. It never measures; the same records give the same bytes.
//!
//! | module | its one job |
//! |---|---|
//! | [`build`] | the one entry: load the book, expand it, store the figures, check the links |
//! | [`page`] | find the directives of a page and replace them |
//! | [`records`] | the records of the reference machine and of this one |
//! | [`select`] | which measurement is meant, and which number of it |
//! | [`fit`] | the line *latency + bytes / bandwidth* through measured times |
//! | [`unit`] | what a number is of, and how it is printed |
//! | [`quantity`] | the named numbers of a page, measured or computed |
//! | [`names`] | what parameters and their values are called, and in which order they stand |
//! | [`figure`] | `chart` blocks |
//! | [`table`] | `table` blocks |
//! | [`prediction`] | `prediction` blocks |
//! | [`provenance`] | where the numbers come from, in a line or in full |
//! | [`claims`] | the source's claims, their verdicts and the rules they must keep |
//! | [`scorecard`] | claims as HTML: badge, quotation, scorecard, errata |
//! | [`includes`] | every included file and anchor exists |
//! | [`links`] | every link of the finished book leads somewhere |
//! | [`html`] | text that is safe in a page |
//! | [`chart`] | a chart as SVG; knows nothing of records |
//!
//! A page is expanded in three steps, each over the whole book before the next: find the
//! directives and evaluate every quantity; judge the claims, which need the quantities of
//! their pages; write the replacements, which need the verdicts. Every step collects all
//! its problems, so that one build shows an author everything there is to mend.

pub mod build;
pub mod chart;
pub mod claims;
pub mod figure;
pub mod fit;
pub mod html;
pub mod includes;
pub mod links;
pub mod names;
pub mod page;
pub mod prediction;
pub mod provenance;
pub mod quantity;
pub mod records;
pub mod scorecard;
pub mod select;
pub mod table;
pub mod unit;

pub use build::{Built, Options, build, preprocess, supports};

//! Records in, book out. This crate turns what was measured into numbers, tables,
//! figures and verdicts inside the pages of an mdBook, and refuses to build a book that
//! disagrees with its records. It never measures; the same records give the same bytes.
//!
//! | module | its one job |
//! |---|---|
//! | [`mod@build`] | the one entry: load the book, expand it, store the figures, check the links |
//! | [`exercise`] | checked exercises on a page |
//! | [`expand`] | the text of a page, with every directive replaced |
//! | [`page`] | one page, as its blocks and the claims see it |
//! | [`directive`] | where in a page the directives are |
//! | [`block`] | what the file beside a page defines |
//! | [`includes`] | every included file and anchor exists |
//! | [`glossary`] | a word's first use on a page leads to the glossary |
//! | [`pictures`] | charts on their way around mdBook |
//! | [`veil`] | what the search does not print: the text that a prediction veils |
//! | [`minutes`] | what a page shows, and how long it takes to read that |
//! | [`print`](mod@print) | the print edition: title page, contents |
//! | [`links`] | every link of the finished book leads somewhere |
//! | [`output`] | where the finished book goes, and what it may replace |
//! | **numbers** | |
//! | [`records`] | the records of the reference machine and of this one |
//! | [`both`] | something found on each side |
//! | [`select`] | some of a record's measurements |
//! | [`metric`] | the numbers of one measurement, in all runs |
//! | [`estimate`] | a number out of several runs, and how well it is known |
//! | [`query`] | a number of a machine's records, in the words of a page |
//! | [`fit`] | the line *latency + bytes / bandwidth* through measured times |
//! | [`condition`] | what has to hold for a sentence to be shown |
//! | [`quantity`] | the named numbers of a page, measured or computed |
//! | **what they become** | |
//! | [`names`] | what parameters and their values are called, in which order they stand, and which of several names was meant |
//! | [`table`] | tables of measurements |
//! | [`counted`] | an emulated GPU's counts beside the reference's |
//! | [`figure`] | charts: the figure on the page |
//! | [`plot`] | each form of chart: what its block says, and which point lies where |
//! | [`chart`] | a chart; knows nothing of records |
//! | [`drawing`] | drawings that explain |
//! | [`explorer`] | explorers: what the reader moves |
//! | [`editor`] | kernels that are edited and run in the page |
//! | [`mod@svg`] | SVG, of charts and of drawings |
//! | [`prediction`] | predictions, and the list of all |
//! | [`curve`] | curves that a reader draws before seeing them |
//! | [`goals`] | goals, and whether they are met |
//! | [`provenance`] | where the numbers come from, in a line or in full |
//! | [`claims`] | the source's claims, their verdicts and the rules they must keep |
//! | [`scorecard`] | claims as HTML: badge, quotation, overview, scorecard, errata |
//! | [`export`] | claims as CSV and JSON |
//! | [`programs`] | what the experiments' programs print: what their pages show |
//! | [`cases`] | the cases of two records against each other |
//! | [`mod@compare`] | two machines against each other |
//! | [`this_machine`] | the reader's machine beside the references, on a page and in words |
//! | [`html`] | text that is safe in a page |
//!
//! A page is expanded in three steps, each over the whole book before the next: find the
//! directives, read what they show, and evaluate every quantity; judge the claims, which need the quantities of
//! their pages; write the replacements, which need the verdicts. Every step collects all
//! its problems, so that one build shows an author everything there is to mend.

pub mod block;
pub mod both;
pub mod build;
pub mod cases;
pub mod chart;
pub mod claims;
pub mod compare;
pub mod condition;
pub mod counted;
pub mod curve;
pub mod directive;
pub mod drawing;
pub mod editor;
pub mod estimate;
pub mod exercise;
pub mod expand;
pub mod explorer;
pub mod export;
pub mod figure;
pub mod fit;
pub mod glossary;
pub mod goals;
pub mod html;
pub mod includes;
pub mod links;
pub mod metric;
pub mod minutes;
pub mod model;
pub mod names;
pub mod output;
pub mod page;
pub mod pictures;
pub mod plot;
pub mod prediction;
pub mod print;
pub mod programs;
pub mod provenance;
pub mod quantity;
pub mod query;
pub mod records;
pub mod scorecard;
pub mod select;
pub mod sources;
pub mod svg;
pub mod table;
pub mod this_machine;
pub mod veil;

#[cfg(test)]
mod language;

pub use excerpt::unit;

pub use build::{Built, Options, build, preprocess, texts};
pub use records::Unused;

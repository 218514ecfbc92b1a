//! What is shown of a record: which cases, which of their numbers, and what both are called. By
//! this a page has its charts and tables, and an experiment's program prints what its page shows.
//!
//! | module | what is in it |
//! |---|---|
//! | [`select`] | some of a record's measurements |
//! | [`metric`] | the numbers of one measurement |
//! | [`machine`] | facts about the machine |
//! | [`mod@unit`] | what a number is of, and how it is printed |
//! | [`names`] | what parameters, their values and metrics are called |
//! | [`page`] | what a page shows of an experiment, for that experiment's program |

pub mod machine;
pub mod metric;
pub mod names;
pub mod page;
pub mod select;
pub mod unit;

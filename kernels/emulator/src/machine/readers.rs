//! Readers of words for which a [trace](crate::machine::trace) has no room. They matter where
//! threads may order some of the block's reads before a write and others not.

use std::collections::HashMap;

use crate::WARP;
use crate::access::active;
use crate::machine::trace::Event;

/// Readers of a line that are remembered; more are only missed if one of the first races.
const MOST: usize = 256;

/// Lanes of a warp that have read the same granules at one time.
#[derive(Clone, Copy, Debug)]
struct Reader {
    /// That of the warp's first lane.
    event: Event,
    lanes: u32,
    granules: u16,
}

/// Readers of lines: sixteen granules of a buffer each, which has a number.
#[derive(Debug, Default)]
pub(crate) struct Readers(HashMap<(usize, usize), Vec<Reader>>);

impl Readers {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a reader. `since`: what was before happens before all that a thread does now.
    pub(crate) fn add(&mut self, line: (usize, usize), granules: u16, event: Event, since: u32) {
        let readers = self.0.entry(line).or_default();
        let lane = event.thread % WARP as u16;
        let event = Event { thread: event.thread - lane, ..event };
        let mut joined = false;
        for reader in readers.iter_mut().rev().take_while(|reader| reader.event.time >= since) {
            if reader.event.thread != event.thread {
                continue;
            }
            if reader.event == event && reader.granules == granules {
                (reader.lanes, joined) = (reader.lanes | 1 << lane, true);
            } else if reader.granules & !granules == 0 {
                reader.lanes &= !(1 << lane); // the thread has read it again
            }
        }
        if joined {
            return;
        }
        if readers.len() == MOST {
            readers.retain(|reader| reader.lanes != 0);
            readers.drain(..readers.len().saturating_sub(MOST / 2));
        }
        readers.push(Reader { event, lanes: 1 << lane, granules });
    }

    /// Forgets the readers of granules that are written. Tells one that races with that.
    pub(crate) fn write(
        &mut self,
        line: (usize, usize),
        granules: u16,
        races: impl Fn(&Event) -> bool,
    ) -> Option<Event> {
        let readers = self.0.get_mut(&line)?;
        let here = readers.iter().filter(|reader| reader.granules & granules != 0);
        let mut events = here.flat_map(|Reader { event, lanes, .. }| {
            active(*lanes).map(|lane| Event { thread: event.thread + lane as u16, ..*event })
        });
        let found = events.find(races);
        readers.iter_mut().for_each(|reader| reader.granules &= !granules);
        readers.retain(|reader| reader.granules != 0);
        found
    }
}

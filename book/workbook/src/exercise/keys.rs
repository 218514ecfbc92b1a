//! Single keys of whoever watches. They come at once where the terminal can be asked for that, which
//! is on Unix; elsewhere with Enter.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Hint,
    Solution,
    Next,
    List,
    Reset,
    Quit,
}

impl Key {
    fn of(byte: u8) -> Option<Key> {
        Some(match byte.to_ascii_lowercase() {
            b'h' => Key::Hint,
            b's' => Key::Solution,
            b'n' => Key::Next,
            b'l' => Key::List,
            b'r' => Key::Reset,
            b'q' => Key::Quit,
            _ => return None,
        })
    }
}

/// Keys, as long as there are some: standard input may have an end.
pub(super) struct Keys {
    pressed: Option<Receiver<Key>>,
    #[cfg(unix)]
    _terminal: Option<terminal::AtOnce>,
}

impl Keys {
    pub(super) fn read() -> Keys {
        let (press, pressed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = std::io::stdin().lock().bytes().map_while(Result::ok);
            // Nobody is left to press keys for at the end of the program alone.
            let _ = bytes.try_for_each(|byte| match Key::of(byte) {
                Some(key) => press.send(key),
                None => Ok(()),
            });
        });
        Keys {
            pressed: Some(pressed),
            #[cfg(unix)]
            _terminal: terminal::AtOnce::ask(),
        }
    }

    /// Whether anything can be pressed still.
    pub(super) fn are_there(&self) -> bool {
        self.pressed.is_some()
    }

    /// The next key, if it is pressed within so long.
    pub(super) fn wait(&mut self, time: Duration) -> Option<Key> {
        match self.pressed.as_ref().map(|pressed| pressed.recv_timeout(time)) {
            Some(Ok(key)) => return Some(key),
            Some(Err(RecvTimeoutError::Timeout)) => {}
            Some(Err(RecvTimeoutError::Disconnected)) => self.pressed = None,
            None => std::thread::sleep(time),
        }
        None
    }
}

#[cfg(unix)]
mod terminal {
    use std::io::stdin;
    use std::sync::Mutex;

    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, OptionalActions, Termios};
    use rustix::termios::{tcgetattr, tcgetpgrp, tcsetattr};

    /// How the terminal was before.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// A terminal that hands over each key at once, and does not show it, while this lives.
    pub(super) struct AtOnce;

    impl AtOnce {
        /// `None` where there is no terminal, or it belongs to another program at present.
        pub(super) fn ask() -> Option<AtOnce> {
            let before = tcgetattr(stdin()).ok()?;
            if tcgetpgrp(stdin()) != Ok(getpgrp()) {
                return None;
            }
            let mut wanted = before.clone();
            wanted.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            *BEFORE.lock().ok()? = Some(before);
            // Ctrl-C ends the program at once, which should leave the terminal as it was.
            ctrlc::set_handler(|| {
                restore();
                std::process::exit(lab::options::INTERRUPTED.into())
            })
            .ok()?;
            tcsetattr(stdin(), OptionalActions::Now, &wanted).ok()?;
            Some(AtOnce)
        }
    }

    impl Drop for AtOnce {
        fn drop(&mut self) {
            restore();
        }
    }

    fn restore() {
        let before = BEFORE.lock().ok().and_then(|mut before| before.take());
        if let Some(before) = before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before); // there is no other way
        }
    }
}

//! Timetables of memory: who carries its bytes, and who gets and returns it.

use super::Drawing;
use super::facts::Of;
use super::timetable::timetable;

pub(super) const FIRST_TOUCH: Drawing = Drawing {
    name: "first-touch",
    title: "A copy into missing pages creates each of them first",
    description: "Three timetables of a CPU core that copies four pieces. If the pages are there, \
        it only copies. If four small pages were never touched, each piece begins with a fault \
        and zeros. If one huge page was never touched, there is one fault, as many zeros, and \
        then the copy.",
    caption: "A core copies four pieces: into existing pages, and into small pages and a huge \
        page that were never touched. A fault comes first, then zeros, then the copy. Lengths \
        are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Pages that are there
core: 4 copy
Small pages, never touched
core: 1 fault, 1 zeros, 1 copy, 1 fault, 1 zeros, 1 copy, 1 fault, 1 zeros, 1 copy, 1 fault, \
1 zeros, 1 copy
A huge page, never touched
core: 1 fault, 4 zeros, 4 copy";
        timetable(c, panels);
    },
};

pub(super) const STAGING: Drawing = Drawing {
    name: "staging",
    title: "One core keeps the engine waiting; three carry as fast as it fetches",
    description: "Two timetables. The driver: one core carries a piece into pinned memory in \
        three slots of time, and the engine fetches it in one and then waits for the next. \
        Staged: the caller and two threads carry three pieces at a time, and the engine fetches \
        without a pause.",
    caption: "Pieces of a copy on their way through pinned memory, where a core takes three \
        times as long for a piece as the engine.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "The driver
core: 3 1, 3 2, 3 3, 3 4
engine: 3 ., 1 1, 2 ., 1 2, 2 ., 1 3, 2 ., 1 4
Staged
caller: 3 1, 3 4
thread 1: 1 ., 3 2, 3 5
thread 2: 2 ., 3 3, 3 6
engine: 3 ., 1 1, 1 2, 1 3, 1 4, 1 5, 1 6";
        timetable(c, panels);
    },
};

pub(super) const ZERO_COPY: Drawing = Drawing {
    name: "zero-copy",
    title: "A copy crosses the link before the kernel runs, zero-copy while it runs",
    description: "Two timetables of the link and the GPU. Copy: the link carries the array, and \
        then the kernel runs. Zero-copy: the kernel runs from the beginning, and the link \
        carries what it reads.",
    caption: "The same kernel on a copy, and on the host's own memory.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Copy
link: 7 bytes
GPU: 7 ., 3 kernel
Zero-copy
link: 7 bytes
GPU: 7 kernel";
        timetable(c, panels);
    },
};

pub(super) const CLOCKS: Drawing = Drawing {
    name: "clocks",
    title: "Three clocks stop at different ends of the same rounds",
    description: "A timetable. The host makes its calls and then waits. Four kernels run one \
        after the other. After the last one the pool returns its memory. Below, three clocks \
        that start with the first call: one stops after the last call, one after the last \
        kernel, and one when the memory is returned.",
    caption: "Four rounds, and three places to stop the clock. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Four rounds
host: 2 call, 12 wait
GPU: 1 ., 2 1, 2 2, 2 3, 2 4
pool: 9 ., 5 return
Three clocks
submitted: 2 runs
last kernel: 9 runs
done: 14 runs";
        timetable(c, panels);
    },
};

pub(super) const ORDERS: Drawing = Drawing {
    name: "orders",
    title: "Depth-first finishes with one stream before the next; breadth-first does not",
    description: "Two timetables of the host's calls, with a row for each of four streams. \
        Depth-first: allocate, launch and free for stream 1, then for stream 2, and so on. \
        Breadth-first: four allocations, then four launches, then four frees.",
    caption: "The host's twelve calls in two orders. In each row, from the left: allocate, \
        launch a kernel, free.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Depth-first
stream 1: 1 alloc, 1 kernel, 1 free
stream 2: 3 ., 1 alloc, 1 kernel, 1 free
stream 3: 6 ., 1 alloc, 1 kernel, 1 free
stream 4: 9 ., 1 alloc, 1 kernel, 1 free
Breadth-first
stream 1: 1 alloc, 3 ., 1 kernel, 3 ., 1 free
stream 2: 1 ., 1 alloc, 3 ., 1 kernel, 3 ., 1 free
stream 3: 2 ., 1 alloc, 3 ., 1 kernel, 3 ., 1 free
stream 4: 3 ., 1 alloc, 3 ., 1 kernel, 3 ., 1 free";
        timetable(c, panels);
    },
};

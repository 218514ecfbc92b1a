//! Timetables of what is queued: calls, copies, launches, and blocks that take places.

use super::Drawing;
use super::facts::Of;
use super::timetable::timetable;

pub(super) const PEELING: Drawing = Drawing {
    name: "peeling",
    title: "While the host carries the bytes of a copy, it launches nothing",
    description: "A timetable of the host, a copy engine and the GPU. The host is busy with the \
        copy's call until the copy is nearly done. Only then it launches the kernel, which runs \
        when the copy is over.",
    caption: "A copy from pageable memory, and then a kernel in another stream. The host carries \
        the bytes, and meanwhile it launches nothing.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "The copy goes first
host: 5 copy, 2 call
engine: 0.6 ., 4.6 copy
GPU: 7 ., 4.5 kernel";
        timetable(c, panels);
    },
};

pub(super) const TWO_PAIRS: Drawing = Drawing {
    name: "two-pairs",
    title: "Two streams with a pair of buffers each leave every engine idle a third of the time",
    description: "A timetable of uploads, kernels and downloads of six batches in two streams. \
        Batches 1 and 2 follow each other by one slot. Batch 3 is uploaded when batch 1 is back, \
        after a slot in which nothing is uploaded, and so on.",
    caption: "Six batches in two streams, a pair of buffers in each: batch 3 waits until batch 1 \
        is back.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "A stream for each of two pairs
up: 1 1, 1 2, 1 ., 1 3, 1 4, 1 ., 1 5, 1 6
GPU: 1 ., 1 1, 1 2, 1 ., 1 3, 1 4, 1 ., 1 5, 1 6
down: 2 ., 1 1, 1 2, 1 ., 1 3, 1 4, 1 ., 1 5, 1 6";
        timetable(c, panels);
    },
};

pub(super) const LAUNCHES: Drawing = Drawing {
    name: "launches",
    title: "Launches pay a call and a gap for each step, a graph one call, a fused kernel one gap",
    description: "Three timetables of four steps. As launches, the host makes four calls, and the \
        GPU has a gap before each step. As a graph, the host makes one longer call, and the GPU \
        has four steps with short gaps. Fused, there is one call, one gap, and one kernel that \
        does all four steps.",
    caption: "A chain of four steps in three ways. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Launches
host: 1.5 call, 1.5 call, 1.5 call, 1.5 call
GPU: 2 ., 1 1, 0.5 ., 1 2, 0.5 ., 1 3, 0.5 ., 1 4
A graph
host: 2.5 call
GPU: 2.7 ., 1 1, 0.2 ., 1 2, 0.2 ., 1 3, 0.2 ., 1 4
Fused
host: 1.5 call
GPU: 2 ., 1.6 1–4";
        timetable(c, panels);
    },
};

pub(super) const WAVES: Drawing = Drawing {
    name: "waves",
    title: "Two grids of half the places take two waves in one stream, and one in two",
    description: "Two timetables of a GPU with room for four blocks, a row for each place. In one \
        stream, two blocks of grid A run first, and two of grid B in the next wave; two places \
        stay empty. In two streams, all four blocks run in one wave.",
    caption: "A GPU with places for four blocks, and two grids of two blocks each. In one stream, \
        blocks of the next grid wait until the grid before is done; in another stream they take \
        free places.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "One stream
place 1: 2 A, 2 B
place 2: 2 A, 2 B
place 3: 4 .
place 4: 4 .
Two streams
place 1: 2 A
place 2: 2 A
place 3: 2 B
place 4: 2 B";
        timetable(c, panels);
    },
};

pub(super) const RETURNS: Drawing = Drawing {
    name: "returns",
    title: "A synchronous call holds the host until the work is done; an asynchronous one does not",
    description: "Two timetables of the host and the GPU, which does the same work in both. After \
        a synchronous call the host waits until the work is done, and then goes on. After an \
        asynchronous call it goes on at once, beside the GPU.",
    caption: "The same work, requested by a synchronous and by an asynchronous call. “Goes on” \
        is whatever the host does next.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Synchronous
host: 1 call, 5 wait, 3 goes on
GPU: 1 ., 5 kernel
Asynchronous
host: 1 call, 3 goes on
GPU: 1 ., 5 kernel";
        timetable(c, panels);
    },
};

pub(super) const ARRIVAL: Drawing = Drawing {
    name: "arrival",
    title: "A small kernel arrives while a large grid has eight waves to run",
    description: "A timetable of a GPU with room for four blocks, a row for each place. Eight \
        waves of a large grid follow one another and leave no place free. In a row below, a small \
        kernel of one block arrives during the third wave.",
    caption: "A GPU with places for four blocks, and a large grid of eight waves. In the third, a \
        small kernel is launched.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Where can the small kernel go?
place 1: 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A
place 2: 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A
place 3: 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A
place 4: 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A, 2 A
launch: 4.8 ., 0.6 B";
        timetable(c, panels);
    },
};

pub(super) const BUSY: Drawing = Drawing {
    name: "busy",
    title: "GPU-Util is the share of the time in which at least one kernel runs",
    description: "Two timetables of a GPU. In the first, kernels run for half of the time, with \
        pauses between them. In the second, they run for three quarters of it.",
    caption: "Two GPUs over the same second: with kernels for half of it, and for three quarters.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "GPU-Util 50%
GPU: 2 kernel, 2 ., 2 kernel, 2 ., 2 kernel, 2 .
GPU-Util 75%
GPU: 3 kernel, 1 ., 3 kernel, 1 ., 3 kernel, 1 .";
        timetable(c, panels);
    },
};

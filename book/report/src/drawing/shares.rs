//! Timetables of what is shared: starting blocks, a cache, memory, a list of jobs, a host.

use super::Drawing;
use super::facts::Of;
use super::timetable::{strips, timetable};

pub(super) const FETCHES: Drawing = Drawing {
    name: "fetches",
    title: "At stride 16 every second sector that memory sends is wasted",
    description: "Eight sectors in a row, which memory sends in four fetches of two. At stride 8 \
        each sector has a thread that reads from it. At stride 16 every second one has none.",
    caption: "Eight sectors, with the thread that reads from each, and the fetches that bring \
        them if memory sends two sectors at a time. At stride 8 both have a reader, at stride 16 \
        one.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Stride 8
threads: 1 0, 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7
memory: 2 fetch, 2 fetch, 2 fetch, 2 fetch
Stride 16
threads: 1 0, 1 ., 1 1, 1 ., 1 2, 1 ., 1 3, 1 .
memory: 2 fetch, 2 fetch, 2 fetch, 2 fetch";
        strips(c, panels);
    },
};

pub(super) const FLIGHT: Drawing = Drawing {
    name: "flight",
    title: "Memory is busy only while enough bytes are in flight",
    description: "Two timetables of threads that wait for loads, three times in a row, and of \
        the memory. With 4 bytes for each thread the memory sends bytes for a quarter of the \
        time and is idle in between. With 16 bytes for each thread it sends bytes all the time.",
    caption: "All threads of a GPU load, and wait. With few bytes for each, the memory is idle \
        until the next loads arrive. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "4 bytes for each thread
threads: 4 wait, 4 wait, 4 wait
memory: 2 ., 1 4, 3 ., 1 4, 3 ., 1 4, 1 .
16 bytes for each thread
threads: 4 wait, 4 wait, 4 wait
memory: 2 ., 4 16, 4 16, 2 16";
        timetable(c, panels);
    },
};

pub(super) const STARTS: Drawing = Drawing {
    name: "starts",
    title: "Blocks are started one after another, and then wait for their loads",
    description: "Two timetables of the starting and of two blocks. With a float for each thread \
        the GPU starts one block after another, eight in all; each loads, waits and stores. With \
        four floats for each thread it starts two blocks, which have more to load and to store, \
        but one start and one wait each.",
    caption: "Blocks are started, load, wait and store; the first two are shown. With four \
        floats for each thread, only a quarter as many blocks have to be started, and all four \
        loads wait together. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "A float for each thread
starting: 1 1, 1 2, 1 3, 1 4, 1 5, 1 6, 1 7, 1 8
block 1: 1 ., 1 load, 2 wait, 1 store
block 2: 2 ., 1 load, 2 wait, 1 store
Four floats for each thread
starting: 1 1, 1 2
block 1: 1 ., 2 loads, 2 wait, 2 stores
block 2: 2 ., 2 loads, 2 wait, 2 stores";
        timetable(c, panels);
    },
};

pub(super) const RUNGS: Drawing = Drawing {
    name: "rungs",
    title: "Two large blocks leave the memory idle while they wait; many small ones do not",
    description: "Two timetables of blocks that load, wait and store, again and again, and of the \
        memory. With two blocks the memory sends what each has loaded, and is idle for most of \
        the time. With four of eight small blocks, each of which loads as much, it is idle for a \
        fifth of the time.",
    caption: "A multiprocessor, and when the memory sends what its blocks load. A block of 256 \
        threads loads as much as one of 1024, and eight of them fit where there was room for \
        two; four are drawn. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "1024 threads, an element each
block 1: 1 load, 3 wait, 1 store, 1 load, 3 wait, 1 store
block 2: 1 ., 1 load, 3 wait, 1 store, 1 load, 3 wait
memory: 2 ., 1 1, 1 2, 3 ., 1 1, 1 2
256 threads, four elements each
block 1: 1 loads, 3 wait, 1 stores, 1 loads, 3 wait, 1 stores
block 2: 1 ., 1 loads, 3 wait, 1 stores, 1 loads, 3 wait
block 3: 2 ., 1 loads, 3 wait, 1 stores, 1 loads, 2 wait
block 4: 3 ., 1 loads, 3 wait, 1 stores, 1 loads, 1 wait
memory: 2 ., 1 1, 1 2, 1 3, 1 4, 1 ., 1 1, 1 2, 1 3";
        timetable(c, panels);
    },
};

pub(super) const SHARES: Drawing = Drawing {
    name: "shares",
    title: "A block that keeps its share finds it in its L1 cache",
    description: "Two timetables of two blocks that read shares of a set. Own: block 0 reads \
        share 0 in every pass, block 1 share 1. Next: block 0 reads the shares 0, 1, 2 and 3 in \
        turn, block 1 the shares 1, 2, 3 and 4.",
    caption: "Which share of the set a block reads in each pass. Own: always the same, which its \
        L1 cache keeps. Next: the following one, which only the L2 cache can hold.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Own
block 0: 1 share 0, 1 share 0, 1 share 0, 1 share 0
block 1: 1 share 1, 1 share 1, 1 share 1, 1 share 1
Next
block 0: 1 share 0, 1 share 1, 1 share 2, 1 share 3
block 1: 1 share 1, 1 share 2, 1 share 3, 1 share 4";
        timetable(c, panels);
    },
};

pub(super) const INDICES: Drawing = Drawing {
    name: "indices",
    title: "The same indices in four orders",
    description: "Four rows of the twelve indices 0 to 11. Sorted. In groups of 4, shuffled \
        among neighbours: 2 0 3 1, 6 5 4 7, 9 8 11 10. Random. In steps of 4: 0 4 8, 1 5 9, \
        2 6 10, 3 7 11.",
    caption: "The same indices in four orders, thread by thread.",
    of: Of::Nobody,
    draw: |c, _| {
        let orders = [
            ("sorted", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            ("groups of 4", [2, 0, 3, 1, 6, 5, 4, 7, 9, 8, 11, 10]),
            ("random", [6, 2, 9, 0, 5, 11, 8, 1, 7, 3, 10, 4]),
            ("steps of 4", [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
        ];
        let row = |(name, indices): (&str, [u32; 12])| {
            format!("{name}: {}", indices.map(|index| format!("1 {index}")).join(", "))
        };
        let rows = orders.map(row).join("\n");
        strips(c, &format!("What thread 0, 1, 2 and so on reads\n{rows}"));
    },
};

pub(super) const JOBS: Drawing = Drawing {
    name: "jobs",
    title: "A queue gives the next job to whichever GPU is free",
    description: "Two timetables of two GPUs and eight jobs, of which 2 and 4 are long. Dealt \
        out in turn, GPU 0 has the odd jobs and is soon done, and GPU 1 has both long ones. From \
        a queue, GPU 0 does 1, 3, 4 and 8, GPU 1 does 2, 5, 6 and 7, and both end together.",
    caption: "Eight jobs, two of them long. Dealt out in turn, one GPU happens to get both; from \
        a queue, the GPU that is free takes the next.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Dealt out in turn
GPU 0: 1 1, 1 3, 1 5, 1 7
GPU 1: 4 2, 4 4, 1 6, 1 8
From a queue
GPU 0: 1 1, 1 3, 4 4, 1 8
GPU 1: 4 2, 1 5, 1 6, 1 7";
        timetable(c, panels);
    },
};

pub(super) const CARRIERS: Drawing = Drawing {
    name: "carriers",
    title: "A call that returns at once lets the next GPU begin",
    description: "Two timetables of a host thread and three GPUs. If each call returns only when \
        the work is done, the GPUs work one after another. If each call returns at once, they \
        work at the same time.",
    caption: "One host thread issues work for three GPUs. What it gains depends on when its calls \
        return. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "Calls that return when the work is done
thread: 4 call, 4 call, 4 call
GPU 0: 4 work
GPU 1: 4 ., 4 work
GPU 2: 8 ., 4 work
Calls that return at once
thread: 1 1, 1 2, 1 3
GPU 0: 1 ., 4 work
GPU 1: 2 ., 4 work
GPU 2: 3 ., 4 work";
        timetable(c, panels);
    },
};

pub(super) const PROCESSES: Drawing = Drawing {
    name: "processes",
    title: "One process launches on each GPU in turn; a process for each launches at once",
    description: "Two timetables of hosts and GPUs. One process launches on GPU 0, 1 and 2 in \
        turn, and the all-reduce runs when the last launch is there. With a process for each \
        GPU, all three launch at the same time, and the all-reduce runs at once.",
    caption: "Which process launches an all-reduce, and when it runs. Lengths are not to scale.",
    of: Of::Nobody,
    draw: |c, _| {
        let panels = "One process
process: 2 launch 0, 2 launch 1, 2 launch 2, 3 wait
GPUs: 6 ., 3 all-reduce
A process for each GPU
process 0: 2 launch 0, 3 wait
process 1: 2 launch 1, 3 wait
process 2: 2 launch 2, 3 wait
GPUs: 2 ., 3 all-reduce";
        timetable(c, panels);
    },
};

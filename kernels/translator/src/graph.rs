//! How control flows between the blocks of a kernel.

use std::cmp::Reverse;
use std::collections::HashSet;

pub(crate) struct Graph {
    /// For each block those that may come next, and that may come before.
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// The blocks that can be reached, each after those that dominate it.
    pub(crate) order: Vec<usize>,
    /// For each block where it is in the order.
    place: Vec<usize>,
}

impl Graph {
    /// For each block, there are those that may come next.
    pub(crate) fn new(next: Vec<Vec<usize>>) -> Self {
        let (mut order, mut seen) = (Vec::new(), HashSet::from([0]));
        let mut path = vec![(0, next[0].clone())];
        while let Some((block, left)) = path.last_mut() {
            match left.pop() {
                Some(to) if seen.insert(to) => path.push((to, next[to].clone())),
                Some(_) => {}
                None => {
                    order.push(*block);
                    path.pop();
                }
            }
        }
        order.reverse();
        let (mut place, mut before) = (vec![usize::MAX; next.len()], vec![Vec::new(); next.len()]);
        for (at, block) in order.iter().enumerate() {
            place[*block] = at;
            next[*block].iter().for_each(|to| before[*to].push(*block));
        }
        Self { next, before, order, place }
    }

    /// For each block the last one before it that is always executed before it.
    pub(crate) fn dominators(&self) -> Vec<usize> {
        let mut above = vec![usize::MAX; self.next.len()];
        above[0] = 0;
        loop {
            let earlier = above.clone();
            for block in &self.order[1..] {
                let known = self.before[*block].iter().filter(|from| above[**from] != usize::MAX);
                let common = known.copied().reduce(|mut a, mut b| {
                    while a != b {
                        let deeper = if self.place[a] > self.place[b] { &mut a } else { &mut b };
                        *deeper = above[*deeper];
                    }
                    a
                });
                above[*block] = common.unwrap_or(0);
            }
            if above == earlier {
                return above;
            }
        }
    }

    /// The blocks that can be reached, each after all that lead to it, loops in one piece, and what
    /// follows a loop after it.
    pub(crate) fn in_pieces(mut self) -> Vec<usize> {
        let mut depths = vec![0; self.next.len()];
        for first in &self.order {
            // What leads back ends a loop.
            let leads_back = |last: &&usize| self.place[**last] >= self.place[*first];
            for last in self.before[*first].iter().filter(leads_back) {
                let (mut inside, mut left) = (HashSet::from([*first, *last]), vec![*last]);
                while let Some(block) = left.pop().filter(|block| block != first) {
                    left.extend(self.before[block].iter().filter(|from| inside.insert(**from)));
                }
                inside.into_iter().for_each(|block| depths[block] += 1);
            }
        }
        for next in &mut self.next {
            // The first one is tried last, and so written next.
            next.sort_by_key(|block| Reverse(depths[*block]));
        }
        Self::new(self.next).order
    }
}

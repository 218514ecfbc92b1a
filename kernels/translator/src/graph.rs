//! How control flows between the blocks of a kernel: for each block, there are those that may come
//! next.

/// The blocks that can be reached, each after those that dominate it.
pub(crate) fn order(next: &[Vec<usize>]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), vec![false; next.len()]);
    let mut path = vec![(0, next[0].clone())];
    seen[0] = true;
    while let Some((_, left)) = path.last_mut() {
        match left.pop() {
            Some(to) if !std::mem::replace(&mut seen[to], true) => {
                let mut ways = next[to].clone();
                // What only leads back is tried last, and so written next.
                ways.sort_by_key(|way| !next[*way].first().is_some_and(|back| seen[*back]));
                path.push((to, ways));
            }
            Some(_) => {}
            None => order.extend(path.pop().map(|(block, _)| block)),
        }
    }
    order.reverse();
    order
}

/// For each block the last one before it that is always executed before it.
pub(crate) fn dominators(next: &[Vec<usize>], order: &[usize]) -> Vec<usize> {
    let (mut above, mut place) = (vec![usize::MAX; next.len()], vec![0; next.len()]);
    order.iter().enumerate().for_each(|(at, block)| place[*block] = at);
    let mut earlier = Vec::new();
    above[0] = 0;
    while above != earlier {
        earlier = above.clone();
        for from in order {
            for to in &next[*from] {
                let (mut a, mut b) =
                    (*from, if above[*to] < next.len() { above[*to] } else { *from });
                while a != b {
                    let deeper = if place[a] > place[b] { &mut a } else { &mut b };
                    *deeper = above[*deeper];
                }
                above[*to] = a;
            }
        }
    }
    above
}

//! Many folders looked at side by side: the time goes into the system, not into us.

/// Folders from which on threads are worth their start.
const MANY: usize = 64;
/// Threads at most.
const MOST: usize = 8;

/// What `look` says of each, in their order.
pub(super) fn side_by_side<T: Sync, R: Send>(all: &[T], look: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if all.len() < MANY || threads == 1 {
        return all.iter().map(look).collect();
    }
    let look = &look;
    std::thread::scope(|scope| {
        let start = |part| (part, scope.spawn(move || looked(part, look)));
        let readers: Vec<_> = all.chunks(all.len().div_ceil(threads)).map(start).collect();
        // What broke is done again here, where its fault is seen.
        let parts = readers.into_iter();
        parts
            .flat_map(|(part, reader)| reader.join().unwrap_or_else(|_| looked(part, look)))
            .collect()
    })
}

fn looked<T, R>(part: &[T], look: impl Fn(&T) -> R) -> Vec<R> {
    part.iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::side_by_side;

    #[test]
    fn the_order_stays() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let all: Vec<usize> = (0..count).collect();
            let twice: Vec<usize> = all.iter().map(|n| n * 2).collect();
            assert_eq!(side_by_side(&all, |n| n * 2), twice);
        }
    }
}

//! Parallel map for file system checks: the time is spent in system calls, so threads help.

/// Minimum items for which starting threads pays off.
const MANY: usize = 64;
/// Maximum threads.
const MOST: usize = 8;

/// Applies `look` to each item; the results keep their order.
pub(super) fn parallel_map<T: Sync, R: Send>(all: &[T], look: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if all.len() < MANY || threads == 1 {
        return all.iter().map(look).collect();
    }
    let look = &look;
    std::thread::scope(|scope| {
        let start = |part| (part, scope.spawn(move || looked(part, look)));
        let readers: Vec<_> = all.chunks(all.len().div_ceil(threads)).map(start).collect();
        // If a thread panicked, this thread repeats its part, so that the panic reaches the caller.
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
    use super::parallel_map;

    #[test]
    fn the_order_stays() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let all: Vec<usize> = (0..count).collect();
            let twice: Vec<usize> = all.iter().map(|n| n * 2).collect();
            assert_eq!(parallel_map(&all, |n| n * 2), twice);
        }
    }
}

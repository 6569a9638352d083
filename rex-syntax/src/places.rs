//! Lists in source order, looked up by place.

use text_size::TextRange;

/// What is whole in a range, of a list in the order of the starts of its places.
pub fn inside<T>(
    sorted: &[T],
    range: TextRange,
    place: impl Fn(&T) -> TextRange,
) -> impl Iterator<Item = &T> {
    let first = sorted.partition_point(|it| place(it).start() < range.start());
    sorted[first..]
        .iter()
        .map(move |it| (place(it), it))
        .take_while(move |(at, _)| at.start() <= range.end())
        .filter(move |(at, _)| range.contains_range(*at))
        .map(|(_, it)| it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range((start, end): (u32, u32)) -> TextRange {
        TextRange::new(start.into(), end.into())
    }

    #[test]
    fn only_what_is_whole_in_a_range_is_found() {
        let sorted = [(0, 9), (1, 2), (3, 6), (3, 3), (4, 5), (6, 6), (7, 8)].map(range);
        let check = |within, expected: &[(u32, u32)]| {
            let found: Vec<TextRange> = inside(&sorted, range(within), |it| *it).copied().collect();
            let expected: Vec<TextRange> = expected.iter().copied().map(range).collect();
            assert_eq!(found, expected);
        };
        check((3, 6), &[(3, 6), (3, 3), (4, 5), (6, 6)]);
        check((4, 5), &[(4, 5)]);
        check((9, 12), &[]);
    }
}

//! Finds the word a misspelling was meant to be.

/// The candidate closest to `word`, if it is close enough to be a misspelling.
pub(crate) fn closest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let limit = (word.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        // No fewer edits than the one is longer than the other.
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) between two short words, letter case ignored.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<u8> = a
        .bytes()
        .take(64)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    let b: Vec<u8> = b
        .bytes()
        .take(64)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_find_their_word() {
        let known = ["map", "private", "firstprivate", "num_teams"];
        assert_eq!(closest("pirvate", known), Some("private"));
        assert_eq!(closest("firstprivat", known), Some("firstprivate"));
        assert_eq!(closest("num_team", known), Some("num_teams"));
        assert_eq!(closest("schedule", known), None);
    }
}

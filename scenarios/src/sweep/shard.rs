//! Which part of a plan one process computes.

use std::fmt;
use std::str::FromStr;

/// Shard `i` of `N`, `i` from 1: the points whose index is `i - 1` modulo `N`, so that shards are alike in work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    count: u64,
}

impl Shard {
    /// The only shard: every point.
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// Shard `number` of `count`; `None` unless 1 ≤ `number` ≤ `count`.
    pub fn new(number: u64, count: u64) -> Option<Self> {
        (1..=count).contains(&number).then_some(Self { number, count })
    }

    /// N.
    pub fn count(self) -> u64 {
        self.count
    }

    /// Whether the point at `index` of the plan is its.
    pub fn has(self, index: u64) -> bool {
        index % self.count == self.number - 1
    }

    /// Its points in a plan of `points`.
    pub fn size(self, points: u64) -> u64 {
        (points + self.count - self.number) / self.count
    }

    /// The name of its journal.
    pub fn journal(self) -> String {
        match self.count {
            1 => "points.jsonl".to_string(),
            count => format!("shard-{}-of-{count}.jsonl", self.number),
        }
    }

    /// The shard whose journal has this name.
    pub fn of_journal(name: &str) -> Option<Self> {
        let (number, count) = name.strip_prefix("shard-")?.strip_suffix(".jsonl")?.split_once("-of-")?;
        Self::new(number.parse().ok()?, count.parse().ok()?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            None => Err("write it as i/N: 3/16".to_string()),
            Some((number, count)) => Self::new(number, count)
                .ok_or_else(|| format!("there is no shard {number} of {count}: they are 1 to {count}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_of_exactly_one_shard() {
        for count in 1..7 {
            let shards: Vec<Shard> = (1..=count).map(|i| Shard::new(i, count).unwrap()).collect();
            for index in 0..20 {
                assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1);
            }
            for shard in &shards {
                assert_eq!(shard.size(20), (0..20).filter(|&index| shard.has(index)).count() as u64);
                assert_eq!(shard.to_string().parse(), Ok(*shard));
                assert_eq!(Shard::of_journal(&shard.journal()), (count > 1).then_some(*shard));
            }
        }
        for text in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}

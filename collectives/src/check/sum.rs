//! Symbolic values: which contributions have been added up.

use std::rc::Rc;

/// A set of contributions, each a rank's input block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// One contribution.
    One { rank: u32, block: u32 },
    /// Several: for each block, the ranks.
    Many(Rc<[(u32, Ranks)]>),
}

/// A set of ranks, one bit a rank.
type Ranks = Box<[u64]>;

impl Sum {
    /// Adds up.
    ///
    /// # Errors
    /// The rank and block of a contribution that is in two of them.
    pub fn add<'a>(
        mut parts: impl Iterator<Item = &'a Self>,
        ranks: u32,
    ) -> Result<Option<Self>, (u32, u32)> {
        let Some(first) = parts.next() else { return Ok(None) };
        let mut rest = parts.peekable();
        if rest.peek().is_none() {
            return Ok(Some(first.clone()));
        }
        let mut blocks: Vec<(u32, Ranks)> = vec![];
        for part in std::iter::once(first).chain(rest) {
            match part {
                Self::One { rank, block } => {
                    let bits = of_block(&mut blocks, *block, ranks);
                    let (word, bit) = ((*rank / 64) as usize, 1u64 << (*rank % 64));
                    if bits[word] & bit != 0 {
                        return Err((*rank, *block));
                    }
                    bits[word] |= bit;
                }
                Self::Many(many) => {
                    for (block, more) in many.iter() {
                        let bits = of_block(&mut blocks, *block, ranks);
                        for (i, (bits, more)) in bits.iter_mut().zip(more).enumerate() {
                            if *bits & more != 0 {
                                return Err((i as u32 * 64 + (*bits & more).trailing_zeros(), *block));
                            }
                            *bits |= more;
                        }
                    }
                }
            }
        }
        Ok(Some(Self::Many(blocks.into())))
    }

    /// All contributions.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
        match self {
            Self::One { rank, block } => Box::new(std::iter::once((*rank, *block))),
            Self::Many(many) => Box::new(many.iter().flat_map(|(block, bits)| {
                let ranks = 0..bits.len() as u32 * 64;
                let has = |rank: &u32| bits[(*rank / 64) as usize] >> (*rank % 64) & 1 == 1;
                ranks.filter(has).map(|rank| (rank, *block))
            })),
        }
    }

    /// Whether it is exactly `rank`'s `block`.
    pub fn is_one(&self, rank: u32, block: u32) -> bool {
        match self {
            Self::One { rank: r, block: b } => (*r, *b) == (rank, block),
            Self::Many(_) => self.iter().eq([(rank, block)]),
        }
    }

    /// Whether it is exactly `block` of each of `ranks`.
    pub fn is_all(&self, ranks: u32, block: u32) -> bool {
        match self {
            Self::One { rank, block: b } => ranks == 1 && (*rank, *b) == (0, block),
            Self::Many(many) => {
                let count = |bits: &Ranks| bits.iter().map(|word| word.count_ones()).sum::<u32>();
                matches!(&many[..], [(b, bits)] if *b == block && count(bits) == ranks)
            }
        }
    }
}

/// The ranks of a block in a list.
fn of_block(blocks: &mut Vec<(u32, Ranks)>, block: u32, ranks: u32) -> &mut Ranks {
    let at = match blocks.iter().position(|(b, _)| *b == block) {
        Some(at) => at,
        None => {
            blocks.push((block, vec![0; ranks.div_ceil(64) as usize].into()));
            blocks.len() - 1
        }
    };
    &mut blocks[at].1
}

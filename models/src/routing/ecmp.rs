//! The hash that picks one of several equal next hops for a flow.

/// Which of `count` equal next hops a flow takes at a switch. `entropy` is the flow's own number (its UDP source
/// port and addresses), `switch_seed` the switch's, so that the tiers of a tree choose independently of each other.
/// Two multiplications; `count` must not be 0.
#[inline]
pub fn ecmp_index(entropy: u32, switch_seed: u32, count: u32) -> u32 {
    let mut x = (u64::from(switch_seed) << 32 | u64::from(entropy)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((x >> 32).wrapping_mul(u64::from(count)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;
    use sim_core::random::{Purpose, Stream, stream};

    use super::*;

    /// χ² of `cells` against a uniform spread, in standard deviations from its mean.
    fn chi_square_sigmas(cells: &[u32]) -> f64 {
        let total: u32 = cells.iter().sum();
        let expected = f64::from(total) / cells.len() as f64;
        let chi: f64 =
            cells.iter().map(|&c| (f64::from(c) - expected) * (f64::from(c) - expected) / expected).sum();
        let freedom = (cells.len() - 1) as f64;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    fn random_u32(s: &mut Stream) -> u32 {
        s.next_u32()
    }

    /// Flows that chose port 0 at the first two tiers must still spread evenly at the third: no polarisation.
    #[test]
    fn three_tiers_spread_evenly_even_among_flows_that_agreed_before() {
        let mut s = stream(1, Purpose::Test, 3);
        for count in [2u32, 4, 8, 16, 3, 12] {
            for case in 0..40 {
                let seeds = [random_u32(&mut s), random_u32(&mut s), random_u32(&mut s)];
                let base = random_u32(&mut s);
                let sequential = case % 2 == 0;
                let mut joint = vec![0u32; (count * count * count) as usize];
                let mut last = vec![0u32; count as usize];
                for i in 0..200 * count * count * count {
                    let entropy = if sequential { base.wrapping_add(i) } else { random_u32(&mut s) };
                    let [a, b, c] = seeds.map(|seed| ecmp_index(entropy, seed, count));
                    joint[((a * count + b) * count + c) as usize] += 1;
                    if a == 0 && b == 0 {
                        last[c as usize] += 1;
                    }
                }
                let (all, agreed) = (chi_square_sigmas(&joint), chi_square_sigmas(&last));
                assert!(
                    all < 6.0,
                    "count {count}, seeds {seeds:x?}, sequential {sequential}: joint {all:.1} sigma"
                );
                assert!(
                    agreed < 8.0,
                    "count {count}, seeds {seeds:x?}, sequential {sequential}: {agreed:.1} sigma"
                );
            }
        }
    }

    /// Seeds and entropies that are small consecutive numbers, as a careless caller would give.
    #[test]
    fn small_consecutive_numbers_do_not_polarise() {
        for (seed_a, seed_b) in [(0u32, 1u32), (1, 2), (7, 8), (0, 1024)] {
            let mut joint = [0u32; 64];
            for entropy in 0..64_000 {
                joint[(ecmp_index(entropy, seed_a, 8) * 8 + ecmp_index(entropy, seed_b, 8)) as usize] += 1;
            }
            let sigmas = chi_square_sigmas(&joint);
            assert!(sigmas < 6.0, "seeds {seed_a}, {seed_b}: {sigmas:.1} sigma");
        }
    }

    #[test]
    fn the_index_is_always_in_range() {
        for entropy in [0, 1, u32::MAX] {
            for count in [1, 2, 3, u32::MAX] {
                assert!(ecmp_index(entropy, 0xffff_ffff, count) < count);
            }
        }
    }
}

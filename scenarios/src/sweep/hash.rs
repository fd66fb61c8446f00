//! A 64-bit hash of bytes that is the same on every machine and in every version: names points and guards lines.

/// FNV-1a over all parts in turn, then the finaliser of MurmurHash3, so that every bit of the input moves every bit.
#[derive(Clone, Copy, Debug)]
pub struct Hasher(u64);

impl Default for Hasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher {
    /// Adds bytes.
    pub fn add(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    /// The hash of what was added.
    pub fn value(self) -> u64 {
        let mut h = self.0;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^ (h >> 33)
    }
}

/// The hash of `bytes`.
pub fn hash(bytes: &[u8]) -> u64 {
    Hasher::default().add(bytes).value()
}

/// A hash as text: 16 hexadecimal digits.
pub fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fixed_and_sees_every_bit() {
        // Golden: a change of it makes every journal and point id another.
        assert_eq!(hex(hash(b"switch.ecn.kmin=100KB")), "a778f3d1c3827e46");
        assert_eq!(hash(b"ab"), Hasher::default().add(b"a").add(b"b").value());
        let flipped = (hash(b"kmin=1") ^ hash(b"kmin=0")).count_ones();
        assert!((16..48).contains(&flipped), "{flipped} bits differ");
    }
}

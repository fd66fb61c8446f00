//! Shared-buffer accounting of a switch: reserved, shared and headroom memory per ingress (port, class).
//!
//! The rules are those of the HPCC ns-3 switch. On arrival of L bytes at an ingress that holds `held` bytes
//! (reserved and shared) and `headroom` bytes: bytes beyond the reservation use shared memory while they stay
//! within the threshold T; beyond it they use headroom; beyond that they are lost. A departure releases headroom
//! first, then shared, then reserved memory.

use crate::config::Threshold;

/// A threshold, compiled: `bytes + (free · alpha) / 2¹⁶`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    fixed: u64,
    alpha: u64,
}

impl Limit {
    /// Compiles a threshold; alpha is held in 1/65536.
    pub fn new(threshold: &Threshold) -> Self {
        match threshold {
            Threshold::Static(bytes) => Self { fixed: bytes.0, alpha: 0 },
            Threshold::Dynamic { alpha } => Self { fixed: 0, alpha: (alpha * 65536.0) as u64 },
        }
    }

    /// The limit while `free` bytes of shared memory are free.
    #[inline]
    pub fn at(&self, free: u64) -> u64 {
        self.fixed + ((free * self.alpha) >> 16)
    }
}

/// Memory of one ingress (port, class).
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingress {
    /// Reserved and shared bytes held.
    pub held: u32,
    /// Headroom bytes held.
    pub headroom: u32,
    /// Headroom bytes it may hold.
    pub headroom_limit: u32,
    /// Whether it wants its sender paused.
    pub xoff: bool,
}

/// Why a packet is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Beyond XOFF and beyond the headroom.
    Headroom,
    /// Beyond the ingress limit of a lossy class, or the shared memory is full.
    Buffer,
}

/// The shared memory of one switch.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    /// Shared bytes in use.
    used: u64,
    /// Shared bytes there are: the memory less all reservations and headroom.
    size: u64,
    /// Shared bytes lossy classes use.
    lossy_used: u64,
    /// Shared bytes lossy classes may use.
    lossy_size: u64,
    /// Reserved bytes of each lossless ingress (port, class).
    reserved: u32,
    /// When a lossless ingress pauses.
    xoff: Limit,
    /// How far below it resumes.
    xon_offset: u64,
    /// Ingress limit of lossy classes.
    lossy: Limit,
    /// Bytes held in all: reserved, shared and headroom.
    occupied: u64,
    /// The most ever held.
    peak: u64,
}

/// What a [`SharedBuffer`] is made of.
#[derive(Clone, Copy, Debug)]
pub struct BufferPlan {
    /// Shared bytes.
    pub shared: u64,
    /// Shared bytes lossy classes may use.
    pub lossy_shared: u64,
    /// Reserved bytes of each lossless ingress (port, class).
    pub reserved: u32,
    /// When a lossless ingress pauses.
    pub xoff: Limit,
    /// How far below it resumes.
    pub xon_offset: u64,
    /// Ingress limit of lossy classes.
    pub lossy: Limit,
}

impl SharedBuffer {
    /// An empty memory.
    pub fn new(plan: &BufferPlan) -> Self {
        Self {
            used: 0,
            size: plan.shared,
            lossy_used: 0,
            lossy_size: plan.lossy_shared.min(plan.shared),
            reserved: plan.reserved,
            xoff: plan.xoff,
            xon_offset: plan.xon_offset,
            lossy: plan.lossy,
            occupied: 0,
            peak: 0,
        }
    }

    /// Shared bytes free.
    #[inline]
    pub fn free(&self) -> u64 {
        self.size - self.used
    }

    /// Shared bytes in use.
    pub fn shared_used(&self) -> u64 {
        self.used
    }

    /// Bytes held in all.
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// The most bytes ever held.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// The XOFF threshold now: shared bytes one lossless ingress may hold.
    #[inline]
    pub fn xoff(&self) -> u64 {
        self.xoff.at(self.free())
    }

    #[inline]
    fn occupy(&mut self, bytes: u32) {
        self.occupied += u64::from(bytes);
        if self.occupied > self.peak {
            self.peak = self.occupied;
        }
    }

    /// Whether `bytes` of a lossless ingress that holds nothing could come and go without using headroom or crossing
    /// XOFF.
    #[inline]
    pub fn passes(&self, ingress: &Ingress, bytes: u32) -> bool {
        let shared = u64::from(bytes.saturating_sub(self.reserved));
        let free = self.free();
        ingress.held | ingress.headroom == 0 && shared <= free && shared < self.xoff.at(free - shared).max(1)
    }

    /// Counts `bytes` that come and go at once towards the peak.
    #[inline]
    pub fn touch(&mut self, bytes: u32) {
        self.peak = self.peak.max(self.occupied + u64::from(bytes));
    }

    /// Charges `bytes` to a lossless ingress. Returns whether it is now beyond XOFF.
    #[inline]
    pub fn admit_lossless(&mut self, ingress: &mut Ingress, bytes: u32) -> Result<bool, Refused> {
        let threshold = self.xoff();
        let after = ingress.held + bytes;
        if after <= self.reserved {
            ingress.held = after;
        } else {
            let shared_after = u64::from(after - self.reserved);
            let newly_shared = bytes.min(after - self.reserved);
            if shared_after > threshold || u64::from(newly_shared) > self.free() {
                if ingress.headroom + bytes > ingress.headroom_limit {
                    return Err(Refused::Headroom);
                }
                ingress.headroom += bytes;
            } else {
                ingress.held = after;
                self.used += u64::from(newly_shared);
            }
        }
        self.occupy(bytes);
        Ok(ingress.headroom > 0 || self.shared_of(ingress) >= self.xoff())
    }

    /// Charges `bytes` to a lossy ingress.
    #[inline]
    pub fn admit_lossy(&mut self, ingress: &mut Ingress, bytes: u32) -> Result<(), Refused> {
        let after = u64::from(ingress.held) + u64::from(bytes);
        let pool_full = self.lossy_used + u64::from(bytes) > self.lossy_size;
        if pool_full || u64::from(bytes) > self.free() || after > self.lossy.at(self.free()) {
            return Err(Refused::Buffer);
        }
        ingress.held += bytes;
        self.used += u64::from(bytes);
        self.lossy_used += u64::from(bytes);
        self.occupy(bytes);
        Ok(())
    }

    /// Shared bytes a lossless ingress holds.
    #[inline]
    fn shared_of(&self, ingress: &Ingress) -> u64 {
        u64::from(ingress.held.saturating_sub(self.reserved))
    }

    /// Releases `bytes` of a lossless ingress. Returns whether it is now at or below XON.
    #[inline]
    pub fn release_lossless(&mut self, ingress: &mut Ingress, bytes: u32) -> bool {
        let from_headroom = ingress.headroom.min(bytes);
        let rest = bytes - from_headroom;
        let from_shared = rest.min(ingress.held.saturating_sub(self.reserved));
        ingress.headroom -= from_headroom;
        ingress.held -= rest;
        self.used -= u64::from(from_shared);
        self.occupied -= u64::from(bytes);
        self.below_xon(ingress)
    }

    /// Whether a lossless ingress may resume its sender.
    #[inline]
    pub fn below_xon(&self, ingress: &Ingress) -> bool {
        let shared = self.shared_of(ingress);
        ingress.headroom == 0 && (shared == 0 || shared + self.xon_offset <= self.xoff())
    }

    /// Reserved bytes of each lossless ingress.
    pub fn reserved(&self) -> u64 {
        u64::from(self.reserved)
    }

    /// Whether an ingress that holds `bytes` would be at or below XON if only `used` shared bytes were in use.
    pub fn could_resume(&self, bytes: u64, used: u64) -> bool {
        let shared = bytes.saturating_sub(u64::from(self.reserved));
        shared == 0 || shared + self.xon_offset <= self.xoff.at(self.size.saturating_sub(used))
    }

    /// Releases `bytes` of a lossy ingress.
    #[inline]
    pub fn release_lossy(&mut self, ingress: &mut Ingress, bytes: u32) {
        ingress.held -= bytes;
        self.used -= u64::from(bytes);
        self.lossy_used -= u64::from(bytes);
        self.occupied -= u64::from(bytes);
    }

    /// Whether the totals agree with what the ingresses hold: (bytes of lossless, bytes of lossy ingresses).
    pub fn balances<'a>(
        &self,
        lossless: impl Iterator<Item = &'a Ingress>,
        lossy: impl Iterator<Item = &'a Ingress>,
    ) -> bool {
        let (mut shared, mut all) = (0u64, 0u64);
        for ingress in lossless {
            shared += self.shared_of(ingress);
            all += u64::from(ingress.held) + u64::from(ingress.headroom);
        }
        let lossy: u64 = lossy.map(|i| u64::from(i.held)).sum();
        shared + lossy == self.used && all + lossy == self.occupied && lossy == self.lossy_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::Bytes;

    fn buffer(xoff: Threshold) -> SharedBuffer {
        SharedBuffer::new(&BufferPlan {
            shared: 100_000,
            lossy_shared: 100_000,
            reserved: 4096,
            xoff: Limit::new(&xoff),
            xon_offset: 3072,
            lossy: Limit::new(&Threshold::Dynamic { alpha: 1.0 }),
        })
    }

    #[test]
    fn reserved_then_shared_then_headroom_then_loss() {
        let mut memory = buffer(Threshold::Static(Bytes(10_000)));
        let mut ingress = Ingress { headroom_limit: 2000, ..Ingress::default() };
        for _ in 0..4 {
            assert_eq!(memory.admit_lossless(&mut ingress, 1000), Ok(false));
        }
        assert_eq!((ingress.held, memory.shared_used()), (4000, 0));
        for _ in 0..10 {
            assert_eq!(memory.admit_lossless(&mut ingress, 1000), Ok(false));
        }
        assert_eq!((ingress.held, memory.shared_used()), (14_000, 9904));
        assert_eq!(memory.admit_lossless(&mut ingress, 1000), Ok(true), "beyond XOFF: headroom");
        assert_eq!(memory.admit_lossless(&mut ingress, 1000), Ok(true));
        assert_eq!(memory.admit_lossless(&mut ingress, 1000), Err(Refused::Headroom));
        assert_eq!(ingress.headroom, 2000);
        assert!(!memory.release_lossless(&mut ingress, 2000), "headroom is released first");
        assert_eq!((ingress.headroom, ingress.held), (0, 14_000));
        assert!(!memory.release_lossless(&mut ingress, 2000), "7904 + 3072 > 10000");
        assert!(memory.release_lossless(&mut ingress, 1000), "6904 + 3072 <= 10000");
        assert!(memory.balances([&ingress].into_iter(), [].into_iter()));
    }

    #[test]
    fn dynamic_threshold_shrinks_as_memory_fills() {
        let mut memory = buffer(Threshold::Dynamic { alpha: 0.125 });
        assert_eq!(memory.xoff(), 12_500);
        let mut lossy = Ingress::default();
        memory.admit_lossy(&mut lossy, 40_000).unwrap();
        assert_eq!(memory.xoff(), 7500);
        assert_eq!(memory.admit_lossy(&mut lossy, 40_000), Err(Refused::Buffer), "80 KB > 60 KB free");
        memory.release_lossy(&mut lossy, 40_000);
        assert_eq!(memory.xoff(), 12_500);
    }

    #[test]
    fn shared_memory_never_overflows() {
        let mut memory = buffer(Threshold::Dynamic { alpha: 128.0 });
        let mut ingress = Ingress { headroom_limit: 0, ..Ingress::default() };
        let mut admitted = 0u64;
        while memory.admit_lossless(&mut ingress, 999).is_ok() {
            admitted += 999;
        }
        assert!(admitted <= 104_096 && admitted > 102_000, "{admitted}");
    }
}

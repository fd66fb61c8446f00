//! Asking the processor to bring memory into its cache ahead of use.

/// Asks for the cache line of `slice[index]`; beyond the end of the slice it does nothing useful and no harm.
/// A hint: on processors without it, nothing happens.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    prefetch_at(slice.as_ptr().wrapping_add(index));
}

/// Asks for the cache line at `address`, which may be any address.
#[inline(always)]
pub fn prefetch_at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing the program can see and cannot fault, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

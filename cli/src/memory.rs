//! Large pages for the simulator's state.
//!
//! A run touches a few megabytes at random, hundreds of times a microsecond; with pages of 4 KiB a good part of that
//! time goes into address translation. On Linux with glibc the heap is asked to grow in one piece that the kernel may
//! back with 2 MiB pages. Where that is not possible nothing changes but the speed.

/// Asks for large pages. Call once, before anything large is allocated.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn prefer_large_pages() {
    const GIB: libc::c_int = 1 << 30;
    /// What the heap grows by at least: the state of a few thousand ports.
    const PIECE: usize = 64 << 20;
    const LARGE_PAGE: usize = 2 << 20;
    // SAFETY: mallopt and sbrk(0) only read and set the allocator's parameters; madvise is given the aligned part of
    // the heap that the allocator itself has just reserved, and MADV_HUGEPAGE changes no contents.
    unsafe {
        // Large tables come from the heap, not from mappings of their own; freed memory stays.
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIB);
        libc::mallopt(libc::M_TRIM_THRESHOLD, GIB);
        libc::mallopt(libc::M_TOP_PAD, PIECE as libc::c_int);
        drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE_PAGE)));
        let end = libc::sbrk(0) as usize;
        let start = (end.saturating_sub(PIECE)).next_multiple_of(LARGE_PAGE);
        if end > start {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}

/// Nothing to ask for here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn prefer_large_pages() {}

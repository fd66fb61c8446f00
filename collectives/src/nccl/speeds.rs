//! The bandwidths that NCCL's search tries for a channel. Source: NCCL 2.30 `graph/search.cc`, `ncclTopoCompute`.

use crate::node::GpuGeneration;

/// GB/s tried for channels over several nodes, from high to low.
pub(super) const fn inter(generation: GpuGeneration) -> &'static [f64] {
    match generation {
        GpuGeneration::Volta | GpuGeneration::Ampere => &[
            48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2,
            0.24, 0.12,
        ],
        GpuGeneration::Hopper => &[
            48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12,
        ],
        GpuGeneration::Blackwell => &[
            96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0,
            2.4, 1.2, 0.24, 0.12,
        ],
    }
}

/// GB/s tried for channels in one node, from high to low. The tail of Volta's and Ampere's list is that of [`inter`].
pub(super) const fn intra(generation: GpuGeneration) -> &'static [f64] {
    match generation {
        GpuGeneration::Volta | GpuGeneration::Ampere => {
            &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0]
        }
        GpuGeneration::Hopper => &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
        GpuGeneration::Blackwell => {
            &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0, 11.0, 6.0, 3.0]
        }
    }
}

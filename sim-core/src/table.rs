//! Arrays of state indexed by ids that are right by construction.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A fixed-length array whose owner only ever indexes it with ids it has handed out itself.
///
/// Indexing is checked in debug builds and not in release builds, where the checks of a simulator's hot path cost an
/// eighth of its instructions. Ids must therefore be validated where they enter, when a fabric is built.
#[derive(Clone, Debug, Default)]
pub struct Table<T>(Box<[T]>);

impl<T> From<Vec<T>> for Table<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values.into_boxed_slice())
    }
}

impl<T> Table<T> {
    /// The value at `id`, checked in release builds too: for ids from outside. Panics beyond the end.
    #[inline]
    pub fn checked(&self, id: usize) -> &T {
        &self.0[id]
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: usize) -> &T {
        debug_assert!(id < self.0.len(), "id {id} of {}", self.0.len());
        // SAFETY: ids are made by the owner of the table, below its length, which never changes; debug builds check.
        unsafe { self.0.get_unchecked(id) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: usize) -> &mut T {
        debug_assert!(id < self.0.len(), "id {id} of {}", self.0.len());
        // SAFETY: as for `index`.
        unsafe { self.0.get_unchecked_mut(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_like_a_slice() {
        let mut table = Table::from(vec![1, 2, 3]);
        table[1] += 10;
        assert_eq!((table[0], table[1], table.len()), (1, 12, 3));
        assert_eq!(table.iter().sum::<i32>(), 16);
    }
}

// SPDX-License-Identifier: MIT
//! The memory in which the data of an event is assembled.

use std::mem::MaybeUninit;
use std::ptr;

/// Memory on the stack.
#[repr(align(8))]
pub struct Memory<const N: usize>([MaybeUninit<u8>; N]);

impl<const N: usize> Memory<N> {
    /// N bytes of any contents.
    #[inline(always)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Memory([MaybeUninit::uninit(); N])
    }
}

/// Data in N bytes of the stack; larger data moves to the heap.
pub struct Buffer<'a, const N: usize> {
    size: usize,
    stack: &'a mut [MaybeUninit<u8>; N],
    heap: Vec<u8>,
}

impl<'a, const N: usize> Buffer<'a, N> {
    /// A buffer without data.
    #[inline(always)]
    pub fn new(memory: &'a mut Memory<N>) -> Self {
        Buffer { size: 0, stack: &mut memory.0, heap: Vec::new() }
    }

    /// The number of bytes so far.
    #[inline(always)]
    pub fn size(&self) -> usize {
        if self.heap.is_empty() {
            self.size
        } else {
            self.heap.len()
        }
    }

    /// Appends bytes. If memory is short, they are left out, whole.
    #[inline(always)]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.heap.is_empty() && bytes.len() <= N - self.size {
            // SAFETY: the bytes fit behind the first `size` bytes of the stack, which nothing else refers to.
            unsafe {
                let to = self.stack.as_mut_ptr().add(self.size).cast::<u8>();

                ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
            self.size += bytes.len();
        } else {
            self.put_in_heap(bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_in_heap(&mut self, bytes: &[u8]) {
        let kept = if self.heap.is_empty() { self.size } else { 0 };

        if self.heap.try_reserve(kept + bytes.len()).is_ok() {
            // SAFETY: the first `size` bytes of the stack have been written.
            let stack = unsafe { std::slice::from_raw_parts(self.stack.as_ptr().cast::<u8>(), kept) };

            self.heap.extend_from_slice(stack);
            self.heap.extend_from_slice(bytes);
        }
    }

    /// Appends zeros up to a multiple of the alignment, a power of two of at most 8.
    #[inline(always)]
    pub fn align(&mut self, alignment: usize) {
        self.put(&[0; 8][..self.size().wrapping_neg() % alignment]);
    }

    /// Removes the bytes after the first `size` bytes, which has at most `size()`.
    pub fn truncate(&mut self, size: usize) {
        if self.heap.is_empty() {
            self.size = size.min(self.size);
        } else if size == 0 {
            self.heap.clear();
            self.size = 0;
        } else {
            self.heap.truncate(size);
        }
    }

    /// The data.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        if self.heap.is_empty() {
            // SAFETY: the first `size` bytes of the stack have been written.
            unsafe { std::slice::from_raw_parts(self.stack.as_ptr().cast(), self.size) }
        } else {
            &self.heap
        }
    }
}

/// Records an event of an open type. The event has the address of this call.
#[inline(always)]
pub fn record(id: u32, data: &[u8]) {
    // SAFETY: the pointer and the size are those of the data; any identifier may be given.
    unsafe { posixtrace_sys::posix_trace_event(id, data.as_ptr().cast(), data.len()) }
}

//! A search for a cause inside nested errors. TLS errors travel inside I/O errors, and those inside
//! HTTP errors.

use std::error::Error;
use std::io;

/// Returns the first cause of type `T` in the chain of an error, the error itself included.
pub fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // The source of an I/O error is the source of the error that it wraps, which skips the
        // wrapped error itself.
        current = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

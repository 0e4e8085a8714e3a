//! Finding a cause inside nested errors. TLS errors travel inside I/O errors,
//! those inside HTTP errors.

use std::error::Error;
use std::io;

/// The first cause of type `T` in the chain of an error, itself included.
pub fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // An I/O error names as its source that of the error it wraps, and so
        // skips the wrapped error itself.
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

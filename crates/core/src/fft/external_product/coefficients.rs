//! The scalars that digits are taken of and sums are added to.

use crate::simd::{TorusSlice, TorusSliceMut};
use crate::torus::Torus;

/// A coefficient that [`forward_digit`](super::ExternalProductPlan::forward_digit) takes a digit of and
/// [`inverse_add`](super::ExternalProductPlan::inverse_add) adds to: a scalar of the torus, or a double, which counts
/// turns and stands for its residue mod 1.
///
/// Doubles are in `[-1/2, 1/2]`, up to an error of rounding. Their digits and sums take fewer operations than those of
/// scalars of 64 bits, which have to be converted.
pub trait Coefficient: Copy + Send + Sync {
    #[doc(hidden)]
    fn view(data: &[Self]) -> Coefficients<'_>;
    #[doc(hidden)]
    fn view_mut(data: &mut [Self]) -> CoefficientsMut<'_>;
}

/// A slice of [`Coefficient`]s.
#[doc(hidden)]
pub struct Coefficients<'a>(pub(super) View<'a>);

/// A mutable slice of [`Coefficient`]s.
#[doc(hidden)]
pub struct CoefficientsMut<'a>(pub(super) ViewMut<'a>);

pub(super) enum View<'a> {
    Torus(TorusSlice<'a>),
    Turns(&'a [f64]),
}

pub(super) enum ViewMut<'a> {
    Torus(TorusSliceMut<'a>),
    Turns(&'a mut [f64]),
}

impl<T: Torus> Coefficient for T {
    fn view(data: &[Self]) -> Coefficients<'_> {
        Coefficients(View::Torus(TorusSlice::new(data)))
    }

    fn view_mut(data: &mut [Self]) -> CoefficientsMut<'_> {
        CoefficientsMut(ViewMut::Torus(TorusSliceMut::new(data)))
    }
}

impl Coefficient for f64 {
    fn view(data: &[Self]) -> Coefficients<'_> {
        Coefficients(View::Turns(data))
    }

    fn view_mut(data: &mut [Self]) -> CoefficientsMut<'_> {
        CoefficientsMut(ViewMut::Turns(data))
    }
}

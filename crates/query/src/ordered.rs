//! Functions of rows in their order: of windows of the last rows, of all rows so far, and of a row before.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::RequestError;

/// A function that has a value for each row, of that row and of others before or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ordered {
    /// The sum of each window.
    RollingSum(Window),
    /// The mean of each window.
    RollingMean(Window),
    /// The smallest value of each window.
    RollingMin(Window),
    /// The largest value of each window.
    RollingMax(Window),
    /// The sum of the values so far.
    Cumsum,
    /// The smallest value so far.
    Cummin,
    /// The largest value so far.
    Cummax,
    /// The value of the row that is this number of rows before, or behind if it is negative.
    Shift(i32),
    /// The value less that of the row that is this number of rows before, or behind if it is negative.
    Diff(i32),
}

/// The last rows up to each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The number of rows.
    pub rows: u32,
    /// The number of values that a window needs, where it is not one for each of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_periods: Option<u32>,
}

impl Ordered {
    /// The names of all functions.
    pub const NAMES: [&str; 9] = [
        "rolling_sum",
        "rolling_mean",
        "rolling_min",
        "rolling_max",
        "cumsum",
        "cummin",
        "cummax",
        "shift",
        "diff",
    ];

    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Self::RollingSum(_) => "rolling_sum",
            Self::RollingMean(_) => "rolling_mean",
            Self::RollingMin(_) => "rolling_min",
            Self::RollingMax(_) => "rolling_max",
            Self::Cumsum => "cumsum",
            Self::Cummin => "cummin",
            Self::Cummax => "cummax",
            Self::Shift(_) => "shift",
            Self::Diff(_) => "diff",
        }
    }

    /// Returns the function of a name, of a window or of as many rows before; `None` for other names.
    pub(crate) fn of_window(name: &str, window: Window) -> Option<Self> {
        Some(match name {
            "rolling_sum" => Self::RollingSum(window),
            "rolling_mean" => Self::RollingMean(window),
            "rolling_min" => Self::RollingMin(window),
            "rolling_max" => Self::RollingMax(window),
            _ => return None,
        })
    }

    fn window(self) -> Option<Window> {
        match self {
            Self::RollingSum(window)
            | Self::RollingMean(window)
            | Self::RollingMin(window)
            | Self::RollingMax(window) => Some(window),
            _ => None,
        }
    }

    /// Returns whether compact columns of enough headroom give the values without a bootstrap.
    pub(crate) fn is_linear(self) -> bool {
        match self {
            Self::RollingMin(_) | Self::RollingMax(_) | Self::Cummin | Self::Cummax => false,
            Self::RollingSum(_)
            | Self::RollingMean(_)
            | Self::Cumsum
            | Self::Shift(_)
            | Self::Diff(_) => true,
        }
    }

    /// Checks the numbers of rows.
    ///
    /// # Errors
    /// A window of no rows or one that cannot have the values that it needs, means of windows with different numbers of values, and the
    /// difference to the same row.
    pub(crate) fn check(self) -> Result<(), RequestError> {
        if let Some(Window { rows, min_periods }) = self.window() {
            let least = min_periods.unwrap_or(rows);
            if !(1..=rows).contains(&least) {
                return Err(RequestError::Window {
                    rows,
                    min_periods: least,
                });
            }
            if matches!(self, Self::RollingMean(_)) && least < rows {
                return Err(RequestError::WindowMeans);
            }
        }
        match self {
            Self::Diff(0) => Err(RequestError::Difference),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Ordered {
    /// Writes the arguments behind the expression.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Shift(1) | Self::Diff(1) => Ok(()),
            Self::Shift(rows) | Self::Diff(rows) => write!(f, ", {rows}"),
            _ => match self.window() {
                None => Ok(()),
                Some(Window { rows, min_periods }) => {
                    write!(f, ", {rows}")?;
                    match min_periods {
                        None => Ok(()),
                        Some(least) => write!(f, ", {least}"),
                    }
                }
            },
        }
    }
}

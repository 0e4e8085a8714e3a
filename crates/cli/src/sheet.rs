//! The paper and the pens of pictures.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const INK: RGBColor = RGBColor(0x1f, 0x29, 0x33);
const MUTED: RGBColor = RGBColor(0x5c, 0x67, 0x72);
pub(crate) const RULE: RGBColor = RGBColor(0xdd, 0xe1, 0xe5);
pub(crate) const MEASURED: RGBColor = RGBColor(0x7b, 0x87, 0x94);
pub(crate) const DECRYPTED: RGBColor = RGBColor(0x00, 0x5f, 0xa3);
pub(crate) const THRESHOLD: RGBColor = RGBColor(0xc6, 0x50, 0x00);
pub(crate) const SHADE: RGBColor = RGBColor(0xdc, 0xea, 0xf6);

pub(crate) const HEADING: Pen = Pen(25, FontStyle::Bold, INK, HPos::Left);
pub(crate) const SUBTITLE: Pen = Pen(15, FontStyle::Normal, MUTED, HPos::Left);
pub(crate) const NAME: Pen = Pen(17, FontStyle::Bold, INK, HPos::Left);
pub(crate) const FIGURE: Pen = Pen(20, FontStyle::Bold, INK, HPos::Left);
pub(crate) const EXTREME: Pen = Pen(13, FontStyle::Bold, DECRYPTED, HPos::Center);
pub(crate) const VALUE: Pen = Pen(12, FontStyle::Normal, MUTED, HPos::Right);
pub(crate) const TICK: Pen = Pen(12, FontStyle::Normal, MUTED, HPos::Center);
pub(crate) const LABEL: Pen = Pen(13, FontStyle::Normal, MUTED, HPos::Left);

/// A width that is larger than any text.
pub(crate) const ROOMY: i32 = 1 << 20;

/// The style of a text: its size, weight, colour and alignment.
#[derive(Clone, Copy)]
pub(crate) struct Pen(i32, FontStyle, RGBColor, HPos);

impl Pen {
    pub(crate) fn coloured(self, colour: RGBColor) -> Self {
        Self(self.0, self.1, colour, self.3)
    }

    /// Returns about how wide a text is: there is no font here to measure it with.
    pub(crate) fn width(self, text: &str) -> i32 {
        let tenths = if matches!(self.1, FontStyle::Bold) {
            7
        } else {
            6
        };
        pixels(text.chars().count()) * self.0 * tenths / 10
    }
}

pub(crate) type Drawn = Result<(), String>;

/// The paper, with the few strokes the picture is made of.
pub(crate) struct Sheet<'a>(DrawingArea<SVGBackend<'a>, Shift>);

impl<'a> Sheet<'a> {
    pub(crate) fn new(document: &'a mut String, width: i32, height: i32) -> Result<Self, String> {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        let sheet = Self(SVGBackend::with_string(document, size).into_drawing_area());
        sheet.rect((0, 0), (width, height), WHITE)?;
        Ok(sheet)
    }

    /// Ends the document.
    pub(crate) fn finish(self) -> Drawn {
        self.0.present().map_err(said)
    }

    pub(crate) fn rect(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Drawn {
        let element = Rectangle::new([from, to], colour.filled());
        self.0.draw(&element).map_err(said)
    }

    pub(crate) fn path(&self, points: Vec<(i32, i32)>, colour: RGBColor, width: u32) -> Drawn {
        let element = PathElement::new(points, colour.stroke_width(width));
        self.0.draw(&element).map_err(said)
    }

    pub(crate) fn dot(&self, at: (i32, i32)) -> Drawn {
        let element = Circle::new(at, 3, MEASURED.filled());
        self.0.draw(&element).map_err(said)
    }

    /// Writes on the line whose middle is at `at`, in no more than `room`: smaller if that is
    /// enough, and otherwise cut short.
    pub(crate) fn text(&self, text: &str, at: (i32, i32), mut pen: Pen, room: i32) -> Drawn {
        // XML cannot contain these characters.
        let unspellable = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
        let mut text = text.trim().replace(unspellable, "");
        let least = (pen.0 * 2 / 3).max(10);
        while pen.0 > least && pen.width(&text) > room {
            pen.0 -= 1;
        }
        while pen.width(&text) > room.max(pen.0) {
            text.pop();
            text.pop();
            text.push('…');
        }
        // The backend divides the size it is given by 1.24.
        let font = ("sans-serif", f64::from(pen.0) * 1.24, pen.1).into_font();
        let anchor = Pos::new(pen.3, VPos::Center);
        let style = TextStyle::from(font).color(&pen.2).pos(anchor);
        let element = Text::new(text, at, style);
        self.0.draw(&element).map_err(said)
    }
}

fn said(error: impl std::error::Error) -> String {
    error.to_string()
}

/// Returns a count as pixels; a count that is too large to draw is cut short.
pub(crate) fn pixels(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(ROOMY).min(ROOMY)
}

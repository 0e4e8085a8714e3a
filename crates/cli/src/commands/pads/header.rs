//! The C header that a board is built with.

use std::fmt::Write as _;

use tfhe_sbc_frames::{BoardKey, Form, Format};
use tfhe_sbc_upload::pads::FramePlan;

/// Returns the text of a header that defines `board`, the data that `tfhe_sbc_frames_open` takes.
pub(super) fn board_header(plan: &FramePlan, format: &Format, key: &BoardKey) -> String {
    // Room for all of it, because a text that grows leaves its old place as it was.
    let mut text = String::with_capacity(8192 + 256 * plan.columns.len());
    text += "/* SECRET, and of one board alone. Made by tfhe-sbc pads make.\n *\n * A row has these codes, ";
    text += "each (reading - offset) / scale, rounded:\n";
    for column in &plan.columns {
        let _ = writeln!(
            text,
            " *   {}: offset {}, scale {}, {} bits",
            column.name, column.offset, column.scale, column.bits
        );
    }
    text += " */\n#include \"tfhe_sbc_frames.h\"\n\nstatic const tfhe_sbc_frames_board board = {\n";
    let named = u8::from(format.form() == Form::Named);
    let _ = writeln!(text, "    .frames = {},", format.frames());
    let _ = writeln!(text, "    .named = {named},");
    let _ = writeln!(text, "    .columns = {},", format.columns().len());
    let _ = writeln!(text, "    .rows = {},", format.rows());
    bytes(&mut text, "id", &format.id().0);
    bytes(&mut text, "key", key.as_bytes());
    text += "    .column = {";
    for column in format.columns() {
        let _ = write!(text, "{{{}, {}}}, ", column.bits(), column.width());
    }
    text += "},\n};\n";
    text
}

fn bytes(text: &mut String, name: &str, bytes: &[u8]) {
    let _ = write!(text, "    .{name} = {{");
    for byte in bytes {
        let _ = write!(text, "0x{byte:02x}, ");
    }
    *text += "},\n";
}

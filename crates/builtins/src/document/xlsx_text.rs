//! Excel (XLSX) to text: each sheet is a part, each row a line. Cells are streamed, so a sheet with
//! one cell far from the others needs no memory for the empty area between.
#![deny(clippy::indexing_slicing)]

use std::io::{Cursor, Write};

use calamine::{DataRef, Reader as _, Xlsx, XlsxError};

use super::csv_text::Rows;
use super::page_ranges::PageRanges;
use super::worker::{PartWriter, WorkerError};
use super::worker_protocol::{FailureReason, Format, Part, ReadFailure};

/// Columns of a sheet (the limit of the format).
const MAX_COLUMNS: u32 = 16_384;

pub(super) fn read<W: Write>(
    bytes: &[u8],
    pages: &PageRanges,
    sink: &mut PartWriter<W>,
) -> Result<(), WorkerError> {
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes)).map_err(failed)?;
    let names = book.sheet_names();
    sink.start(Format::Xlsx, u32::try_from(names.len()).unwrap_or(u32::MAX))?;
    for (number, name) in (1..).zip(names) {
        if !pages.contains(number) {
            continue;
        }
        let (text, damaged) = sheet(&mut book, &name, sink.left());
        if !sink.part(Part { number, name, text, damaged, ..Part::default() })? {
            break;
        }
    }
    Ok(())
}

fn failed(error: XlsxError) -> ReadFailure {
    let why = if matches!(error, XlsxError::Password) {
        FailureReason::Encrypted
    } else {
        FailureReason::Broken
    };
    ReadFailure { why, detail: error.to_string() }
}

/// Reads the rows of a sheet; also returns whether a part of it could not be read. Empty rows
/// between others become one empty line.
fn sheet(book: &mut Xlsx<Cursor<&[u8]>>, name: &str, most: usize) -> (String, bool) {
    // A chart sheet has no cells.
    let Ok(mut cells) = book.worksheet_cells_reader(name) else { return (String::new(), true) };
    let mut rows = Rows::new(most);
    let (mut row, mut values): (u32, Vec<String>) = (0, Vec::new());
    loop {
        let cell = match cells.next_cell() {
            Ok(Some(cell)) => cell,
            Ok(None) => break,
            Err(_) => {
                rows.push(values.iter().map(String::as_str));
                return (rows.text, true);
            }
        };
        let (at, column) = cell.get_position();
        let value = shown(cell.get_value());
        if value.is_empty() || column >= MAX_COLUMNS {
            continue;
        }
        if at != row && !values.is_empty() {
            if !rows.push(values.iter().map(String::as_str)) {
                return (rows.text, false);
            }
            values.clear();
            if at > row + 1 {
                rows.push(std::iter::empty());
            }
        }
        row = at;
        let column = column as usize;
        if values.len() < column {
            values.resize(column, String::new());
        }
        values.push(value);
    }
    if !values.is_empty() {
        rows.push(values.iter().map(String::as_str));
    }
    (rows.text, false)
}

fn shown(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            text.clone()
        }
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(yes) => yes.to_string(),
        DataRef::DateTime(time) if time.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            if (hour, minute, second) == (0, 0, 0) {
                date
            } else {
                format!("{date} {hour:02}:{minute:02}:{second:02}")
            }
        }
        DataRef::DateTime(duration) => {
            // Excel stores durations in days.
            let seconds = (duration.as_f64() * 86_400.0).round();
            let (minutes, rest) = ((seconds / 60.0).floor(), seconds % 60.0);
            format!("{}:{:02}:{rest:02}", (minutes / 60.0).floor(), minutes % 60.0)
        }
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

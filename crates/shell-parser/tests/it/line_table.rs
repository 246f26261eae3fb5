//! Table test: command lines and their parsed form. In the table `\N` is a line feed and `\R` a
//! carriage return; the expected form is below each line.

use crate::summary::short;

#[test]
fn lines_come_to_what_the_table_says() {
    let table = include_str!("lines.txt");
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows.len() > 2 * 200);
    let mut wrong = Vec::new();
    for row in rows.chunks(2) {
        let [line, expected] = row else { panic!("a line without what it comes to: {row:?}") };
        let found = short(&line.replace("\\N", "\n").replace("\\R", "\r"));
        let found = found.replace('\n', "\\N").replace('\r', "\\R");
        if found != expected.trim_start() {
            wrong.push(format!("{line}\n    {found}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines come to something else:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

//! Lines and what they come to. In the table `\N` is the end of a line, `\R` a carriage return, and what a line comes to stands below it.

use crate::short::short;

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

//! Documents built byte by byte, so that tests know their exact content.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;

/// Builds a PDF of these objects, numbered from 1; the first is the catalog.
pub(crate) fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(out.len());
        let _ = writeln!(out, "{number} 0 obj");
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let (start, count) = (out.len(), objects.len() + 1);
    let _ = write!(out, "xref\n0 {count}\n0000000000 65535 f \n");
    for place in places {
        let _ = writeln!(out, "{place:010} 00000 n ");
    }
    let _ = write!(out, "trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    out
}

/// Builds a stream with these entries in its dictionary.
pub(crate) fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {entries} /Length {} >>\nstream\n", content.len()).into_bytes();
    object.extend_from_slice(content);
    object.extend_from_slice(b"\nendstream");
    object
}

/// Builds a PDF with a page for each of these contents, which may use the font F1, the form X1 and
/// the image I1.
pub(crate) fn pdf(contents: &[&[u8]]) -> Vec<u8> {
    pdf_with(contents, b"BT /F1 12 Tf 72 500 Td (from a form) Tj ET")
}

/// Builds the same with another content of the form.
pub(crate) fn pdf_with(contents: &[&[u8]], form: &[u8]) -> Vec<u8> {
    let pages: Vec<String> = (0..contents.len()).map(|i| format!("{} 0 R", 6 + 2 * i)).collect();
    let resources = "/Resources << /Font << /F1 3 0 R >> /XObject << /X1 4 0 R /I1 5 0 R >> >>";
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} /MediaBox [0 0 612 792] {resources} >>",
            pages.join(" "),
            pages.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
        stream(&format!("/Type /XObject /Subtype /Form /BBox [0 0 612 792] {resources}"), form),
        stream(
            "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8",
            b"\x00",
        ),
    ];
    for (index, content) in contents.iter().enumerate() {
        let content_at = 7 + 2 * index;
        objects.push(
            format!("<< /Type /Page /Parent 2 0 R /Contents {content_at} 0 R >>").into_bytes(),
        );
        objects.push(stream("", content));
    }
    pdf_of(&objects)
}

/// Returns the content of a page with this line.
pub(crate) fn line(text: &str) -> Vec<u8> {
    format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET").into_bytes()
}

/// Builds an archive of these files.
pub(crate) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Builds a Word document with this body.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    let xml = format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>{body}</w:body></w:document>"
    );
    zipped(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", xml.as_bytes())])
}

/// Builds an Excel workbook with these sheets: names and the XML of their rows. The second number
/// format is a date.
pub(crate) fn xlsx(sheets: &[(&str, &str)]) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let (mut names, mut relations) = (String::new(), String::new());
    let mut files = Vec::new();
    for (number, (name, rows)) in (1..).zip(sheets) {
        names += &format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>");
        relations += &format!(
            "<Relationship Id=\"rId{number}\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>"
        );
        let sheet =
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
        files.push((format!("xl/worksheets/sheet{number}.xml"), sheet));
    }
    files.push((
        "xl/workbook.xml".to_owned(),
        format!(
            "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets>{names}</sheets></workbook>"
        ),
    ));
    files.push((
        "xl/_rels/workbook.xml.rels".to_owned(),
        format!("<Relationships xmlns=\"{PACKAGE}\">{relations}</Relationships>"),
    ));
    files.push((
        "_rels/.rels".to_owned(),
        format!(
            "<Relationships xmlns=\"{PACKAGE}\"><Relationship Id=\"rId1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
        ),
    ));
    files.push((
        "xl/styles.xml".to_owned(),
        format!(
            "<styleSheet xmlns=\"{MAIN}\"><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>"
        ),
    ));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    zipped(&files)
}

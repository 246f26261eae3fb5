//! HTML cards: what is left of hostile and of ordinary fragments.

use proptest::prelude::*;

use super::*;

fn check(html: &str, expected: &str) {
    let card = html_card(html).unwrap();
    assert_eq!(card.html, expected, "{html}");
    let again = html_card(&card.html).unwrap();
    assert_eq!(again.html, card.html, "a second pass: {html}");
    assert_eq!(again.left_out, [""; 0], "a second pass: {html}");
}

#[test]
fn what_a_card_is_made_of_stays() {
    for html in [
        "<h2>Vienna</h2><p style=\"color: #333; padding: 4px 8px\">21 °C &amp; sunny</p>",
        "<table><thead><tr><th scope=\"col\">Day</th></tr></thead><tbody><tr><td colspan=\"2\">1</td></tr></tbody></table>",
        "<ul><li>a</li><li value=\"4\">b</li></ul><hr><br>",
        "<img src=\"data:image/png;base64,iVBORw0KGgo=\" alt=\"a chart\" width=\"20\">",
        "<progress value=\"3\" max=\"4\"></progress><details open=\"\"><summary>More</summary>x</details>",
        "<div style=\"background: linear-gradient(90deg, rgb(1, 2, 3), #fff); display: grid\" dir=\"rtl\" lang=\"ar\">x</div>",
    ] {
        check(html, html);
        assert!(html_card(html).unwrap().left_out.is_empty(), "{html}");
    }
    check(
        "<a href='https://shop.example/?a=1&b=2'>Shop</a>",
        "<a href=\"https://shop.example/?a=1&amp;b=2\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">Shop</a>",
    );
    check("<P>an <B>open end", "<p>an <b>open end</b></p>");
    check("a < b && c > d \"quoted\"", "a &lt; b &amp;&amp; c &gt; d &quot;quoted&quot;");
    check("<b><i>x</b>y</i>", "<b><i>x</i></b>y");
}

#[test]
fn what_runs_or_loads_is_left_out() {
    for (html, expected) in [
        ("a<script>alert(1)</script>b", "ab"),
        ("a<script>alert('</scr' + '<!--<script>')</script>-->b</script>c", "ac"),
        ("<style>p { color: red }</style><p>x</p>", "<p>x</p>"),
        ("<img src=x onerror=alert(1)>", ""),
        ("<img src='data:image/svg+xml;base64,AA=='>", ""),
        ("<img srcset='https://evil.example/a.png 2x' alt='a <b>'>c", "a &lt;b&gt;c"),
        ("<svg onload=alert(1)><a href='#'>x</a></svg>y", "y"),
        ("<svg/>y", "y"),
        ("<math><mtext><table><mglyph><style><!--</style><img src=x onerror=alert(1)>", ""),
        ("<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "&quot;&gt;"),
        ("<iframe srcdoc='<script>alert(1)</script>'></iframe>z", "z"),
        ("<object data='x'><p>inside</p></object>z", "z"),
        ("<object><object></object>still</object>z", "z"),
        ("<template><img src=x onerror=alert(1)></template>z", "z"),
        ("<textarea></p><b></textarea>z", "z"),
        ("<plaintext><b>rest", ""),
        ("<select><option>a</select>z", "z"),
        ("<form action='https://evil.example'><input name=a><button>Pay</button></form>", "Pay"),
        ("<meta http-equiv=refresh content='0;url=https://evil.example'>z", "z"),
        ("<base href='https://evil.example/'><link rel=stylesheet href=x>z", "z"),
        ("<p id=x class=y name=z data-a=b contenteditable>t</p>", "<p>t</p>"),
        ("<!-- <b> --><!--><img src=x onerror=alert(1)>-->", "--&gt;"),
        ("<![CDATA[<b>x</b>]]>", "x]]&gt;"),
        ("<?php echo '<b>' ?>", "' ?&gt;"),
    ] {
        check(html, expected);
    }
}

#[test]
fn links_lead_to_the_web_only() {
    let bare = "<a target=\"_blank\" rel=\"noopener noreferrer nofollow\">x</a>";
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "java&#10;script:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://a.example/1",
        "/calls",
        "//evil.example/",
        "#top",
        "https://bank.example@evil.example/",
    ] {
        check(&format!("<a href=\"{address}\">x</a>"), bare);
    }
}

#[test]
fn styles_draw_inside_the_card_only() {
    for (style, expected) in [
        ("color: red; position: fixed; top: 0; z-index: 9", Some("color: red")),
        ("background: url(https://evil.example/a.png)", None),
        ("background-image: linear-gradient(red, blue)", None),
        ("background: URL ( x )", None),
        ("width: expression(alert(1))", None),
        ("color: r\\65 d", None),
        ("font-family: 'a'; COLOR: Red !important", Some("color: Red !important")),
        ("margin: -400px", None),
        ("width: calc(100% - 4px)", Some("width: calc(100% - 4px)")),
        ("--x: 1; color: var(--x)", None),
        ("@import x; color", None),
        ("border-image: url(x) 3; border: 1px solid #ccc", Some("border: 1px solid #ccc")),
    ] {
        let expected = expected.map_or_else(String::new, |kept| format!(" style=\"{kept}\""));
        check(&format!("<p style=\"{style}\">x</p>"), &format!("<p{expected}>x</p>"));
    }
}

#[test]
fn the_report_counts_what_was_left_out() {
    let html = "<b onclick=a onfocus=b>x</b><script>1</script><script>2</script><a href='javascript:1'>y</a><evil-name>z</evil-name>";
    let expected = ["address (1)", "element (1)", "event handler (2)", "script (2)"];
    assert_eq!(html_card(html).unwrap().left_out, expected);
}

#[test]
fn a_card_is_bounded() {
    assert_eq!(html_card(&"x".repeat(MAX_HTML_CARD + 1)), None);
    let deep = "<div>".repeat(20_000);
    let card = html_card(&deep).unwrap();
    assert_eq!(card.html.matches("<div>").count(), 64);
    assert_eq!(card.html.matches("</div>").count(), 64);
    // A tree builder copies each open formatting element into each paragraph.
    let copies = "<b style='order: 1'>".repeat(1_000) + &"<p>".repeat(20_000);
    assert!(html_card(&copies).unwrap().html.len() < 4 * copies.len());
}

proptest! {
    #[test]
    fn one_pass_reaches_the_fixpoint_and_no_markup_slips_through(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("<script>"), Just("</script>"), Just("<svg>"), Just("</svg>"), Just("<b>"),
                Just("</b>"), Just("<p title=\""), Just("\">"), Just("<!--"), Just("-->"), Just("<a href="),
                Just("javascript:x"), Just("<img src=x onerror=y>"), Just("<style>"), Just("</style>"),
                Just("<noscript>"), Just("</noscript>"), Just("'"), Just("&lt;"), Just("&#0;"), Just("\0"),
                Just("<table>"), Just("<math>"), Just("</math>"), Just("<"), Just("/>"), Just("text "),
            ],
            0..24,
        ),
    ) {
        let html = parts.concat();
        let card = html_card(&html).unwrap();
        let again = html_card(&card.html).unwrap();
        prop_assert_eq!(&again.html, &card.html);
        prop_assert!(again.left_out.is_empty(), "{:?}", again.left_out);
        let lower = card.html.to_ascii_lowercase();
        for tag in ["<script", "<svg", "<style", "<math", "<noscript", "href=\"javascript:"] {
            prop_assert!(!lower.contains(tag), "{}", card.html);
        }
    }
}

//! Writes the allowed tokens of a card.

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSinkResult};

use super::allowed::{self, Content, Element};
use super::left_out::LeftOut;

/// Deepest nesting that is written; the text of deeper elements stays.
const DEEPEST: usize = 64;

/// The attributes added to every link: it opens beside the page and sends its target no
/// information.
const LINK: &str = " target=\"_blank\" rel=\"noopener noreferrer nofollow\"";

#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    open: Vec<String>,
    dropping: Option<Dropped>,
    left_out: LeftOut,
}

/// An element that is omitted with its content.
#[derive(Debug)]
struct Dropped {
    name: String,
    /// Number of open elements with this name.
    depth: usize,
}

impl Writer {
    pub(super) fn token(&mut self, token: Token) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return self.start(&tag),
            Token::TagToken(tag) => self.end(&tag.name),
            Token::CharacterTokens(text) if self.dropping.is_none() => self.text(&text),
            Token::CharacterTokens(_)
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }

    pub(super) fn finish(mut self) -> (String, LeftOut) {
        while let Some(name) = self.open.pop() {
            self.write_end(&name);
        }
        (self.out, self.left_out)
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        if let Some(dropped) = &mut self.dropping {
            dropped.depth += usize::from(dropped.name == name && !closes_itself(tag));
            return TokenSinkResult::Continue;
        }
        match allowed::element(name) {
            Element::Void if name == "img" => self.picture(tag),
            Element::Void => self.write_start(tag),
            Element::Kept if self.open.len() < DEEPEST => {
                self.write_start(tag);
                self.open.push(name.to_owned());
            }
            Element::Kept => self.left_out.add("element"),
            // Every document contains these elements.
            Element::Unwrapped if matches!(name, "html" | "head" | "body" | "main" | "nav") => {}
            Element::Unwrapped => self.left_out.add(allowed::kind(name)),
            Element::Dropped(content) => {
                self.left_out.add(allowed::kind(name));
                return self.drop(tag, content);
            }
        }
        TokenSinkResult::Continue
    }

    fn drop(&mut self, tag: &Tag, content: Content) -> TokenSinkResult<()> {
        if content == Content::Nothing || closes_itself(tag) {
            return TokenSinkResult::Continue;
        }
        self.dropping = Some(Dropped { name: tag.name.to_string(), depth: 1 });
        match content {
            Content::Elements | Content::Nothing => TokenSinkResult::Continue,
            Content::Text(kind) => TokenSinkResult::RawData(kind),
            Content::Rest => TokenSinkResult::Plaintext,
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(dropped) = &mut self.dropping {
            dropped.depth -= usize::from(dropped.name == name);
            if dropped.depth == 0 {
                self.dropping = None;
            }
            return;
        }
        let Some(at) = self.open.iter().rposition(|open| open == name) else { return };
        while self.open.len() > at {
            let Some(name) = self.open.pop() else { return };
            self.write_end(&name);
        }
    }

    /// A picture, or its text where its address is left out.
    fn picture(&mut self, tag: &Tag) {
        let value = |key: &str| {
            tag.attrs.iter().find(|one| &*one.name.local == key).map(|one| one.value.to_string())
        };
        if value("src").and_then(|src| allowed::attribute("img", "src", &src)).is_some() {
            return self.write_start(tag);
        }
        self.left_out.add("picture");
        self.text(&value("alt").unwrap_or_default());
    }

    fn write_start(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        self.out.push('<');
        self.out.push_str(name);
        for attribute in &tag.attrs {
            let key: &str = &attribute.name.local;
            // Attributes that every rewritten link receives.
            if name == "a" && matches!(key, "target" | "rel") {
                continue;
            }
            let Some(value) = allowed::attribute(name, key, &attribute.value) else {
                self.left_out.add(attribute_kind(key));
                continue;
            };
            self.out.push(' ');
            self.out.push_str(key);
            self.out.push_str("=\"");
            self.escaped(&value);
            self.out.push('"');
        }
        if name == "a" {
            self.out.push_str(LINK);
        }
        self.out.push('>');
    }

    fn write_end(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn text(&mut self, text: &str) {
        self.escaped(text);
    }

    /// Writes text without markup, without control characters, and without overrides of the writing
    /// direction, which make other words appear than those in the text.
    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\u{202d}' | '\u{202e}' => self.left_out.add("direction override"),
                c if c.is_control() && !matches!(c, '\n' | '\t') => {}
                c => self.out.push(c),
            }
        }
    }
}

fn closes_itself(tag: &Tag) -> bool {
    tag.self_closing && allowed::may_close_itself(&tag.name)
}

fn attribute_kind(name: &str) -> &'static str {
    match name {
        "href" | "src" | "srcset" | "action" | "formaction" | "background" | "poster" => "address",
        "style" => "style",
        name if name.starts_with("on") => "event handler",
        _ => "attribute",
    }
}

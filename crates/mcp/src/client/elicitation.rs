//! Questions of a server to a person.

use rmcp::model::ElicitRequestParams;
use serde_json::Value;
use url::Url;

use super::visible_text;

/// Maximum characters of a question that a person sees.
const MESSAGE_CHARS: usize = 2_000;

/// A question of a server to a person in the middle of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The server that asks the question.
    pub server: String,
    /// The server's own text, without invisible characters.
    pub message: String,
    /// The web page that the question asks the person to open, if any. Its scheme is http or https.
    pub url: Option<String>,
    /// The raw parameters, for forwarding the question to an MCP client.
    pub params: Value,
}

impl Elicitation {
    /// Creates the question of this server.
    ///
    /// # Errors
    /// Why the question is not shown to a person, as a sentence fragment.
    pub(crate) fn new(server: &str, params: &ElicitRequestParams) -> Result<Self, String> {
        let (message, url) = match params {
            ElicitRequestParams::FormElicitationParams { message, .. } => (message, None),
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, Some(checked_url(url)?))
            }
            _ => return Err("it is of a kind that is not known here".to_owned()),
        };
        let message: String = visible_text(message).chars().take(MESSAGE_CHARS).collect();
        let params = serde_json::to_value(params).map_err(|error| error.to_string())?;
        Ok(Self { server: server.to_owned(), message, url, params })
    }

    /// Returns the parameters with a message that names the server, so that its text cannot be
    /// mistaken for ours or for that of another server.
    #[must_use]
    pub fn attributed_params(&self) -> Value {
        let mut params = self.params.clone();
        let Self { server, message, .. } = self;
        let page = self.url.as_ref().map_or_else(String::new, |url| format!(" (page: {url})"));
        let text = format!("The MCP server \"{server}\" asks, in its own words{page}: {message}");
        if let Some(params) = params.as_object_mut() {
            params.insert("message".to_owned(), Value::String(text));
        }
        params
    }
}

/// Accepts only a web page: a client could run a program for other addresses.
fn checked_url(text: &str) -> Result<String, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url.into()),
        Ok(url) => Err(format!("it asks to open an address of the scheme {}", url.scheme())),
        Err(_) => Err("it asks to open something that is not a URL".to_owned()),
    }
}

/// The reply to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// Values that match the schema of the question.
    Accept(Option<Value>),
    /// The person declined.
    Decline,
    /// No reply.
    Cancel,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_names_its_server_and_opens_web_pages_only() {
        let question = |params: Value| {
            let params: ElicitRequestParams = serde_json::from_value(params).unwrap();
            Elicitation::new("fx", &params)
        };
        let form = question(
            json!({"mode": "form", "message": "Toolcrib\u{202e} needs your key", "requestedSchema": {"type": "object", "properties": {}}}),
        );
        assert_eq!(
            form.unwrap().attributed_params()["message"],
            "The MCP server \"fx\" asks, in its own words: Toolcrib needs your key"
        );
        let page = |url: &str| {
            question(json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}))
        };
        assert_eq!(
            page("https://a.example/x").unwrap().url.as_deref(),
            Some("https://a.example/x")
        );
        for bad in
            ["file:///etc/passwd", "javascript:alert(1)", "vscode://x/y", "data:text/html,x", "a"]
        {
            assert!(page(bad).is_err(), "{bad}");
        }
    }
}

//! Classifies a failure by the status, codes and message of the provider.
//!
//! Codes take precedence over the message, and the message over the status: gateways rewrite the
//! status, and servers like vLLM and llama.cpp answer 400 and 500 for many failures that are
//! neither.

use super::error_body::ErrorBody;
use crate::model::FailureKind;

/// Codes with one meaning, regardless of the message.
const CODES: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::BadKey,
        &[
            "invalid_api_key",
            "authentication_error",
            "unauthenticated",
            "api_key_invalid",
            "api_key_service_blocked",
            "invalid_authentication",
            "account_deactivated",
        ],
    ),
    (
        FailureKind::NoCredit,
        &[
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "insufficient_balance",
            "credit_balance_too_low",
        ],
    ),
    (
        FailureKind::UnknownModel,
        &["model_not_found", "deploymentnotfound", "model_not_available", "unknown_model"],
    ),
    (
        FailureKind::ContextExceeded,
        &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "string_above_max_length",
        ],
    ),
    (
        FailureKind::Moderated,
        &[
            "content_filter",
            "content_policy_violation",
            "moderation_blocked",
            "responsibleaipolicyviolation",
            "invalid_prompt",
            "sensitive_words_detected",
        ],
    ),
    (FailureKind::BadRequest, &["unsupported_country_region_territory", "failed_precondition"]),
    // Groq: the model wrote an invalid call; a retry may give a valid one.
    (FailureKind::Unavailable, &["tool_use_failed"]),
    (FailureKind::RateLimited, &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"]),
    (
        FailureKind::Unavailable,
        &[
            "overloaded_error",
            "api_error",
            "server_error",
            "timeout_error",
            "unavailable",
            "unavailable_error",
            "internal",
            "deadline_exceeded",
            "vector_store_timeout",
        ],
    ),
];

/// Phrases that identify a failure whose code does not, in lower case. All phrases of a row must
/// occur.
const WORDS: &[(FailureKind, &[&str])] = &[
    // Ollama, Groq, OpenRouter, Gemini, vLLM, llama.cpp, in this order.
    (FailureKind::NoTools, &["does not support tools"]),
    (FailureKind::NoTools, &["does not support", "function calling"]),
    (FailureKind::NoTools, &["does not support", "tool use"]),
    (FailureKind::NoTools, &["tool calling", "not supported"]),
    (FailureKind::NoTools, &["tool use", "not supported"]),
    (FailureKind::NoTools, &["tools", "not supported in this model"]),
    (FailureKind::NoTools, &["tools is not supported"]),
    (FailureKind::NoTools, &["tools are not supported"]),
    (FailureKind::NoTools, &["no endpoints found that support tool use"]),
    (FailureKind::NoTools, &["function calling is not enabled"]),
    (FailureKind::NoTools, &["function calling is not supported"]),
    (FailureKind::NoTools, &["tool choice requires --enable-auto-tool-choice"]),
    (FailureKind::NoTools, &["tools param requires --jinja"]),
    (FailureKind::ContextExceeded, &["prompt is too long"]),
    // Groq: this request alone exceeds the limit per minute, so waiting does not help.
    (FailureKind::ContextExceeded, &["request too large for", "tokens per minute"]),
    (FailureKind::ContextExceeded, &["maximum context length"]),
    (FailureKind::ContextExceeded, &["maximum number of tokens"]),
    (FailureKind::ContextExceeded, &["exceeds the available context size"]),
    (FailureKind::ContextExceeded, &["exceed", "context window"]),
    (FailureKind::ContextExceeded, &["exceed", "context limit"]),
    (FailureKind::ContextExceeded, &["exceed", "context length"]),
    (FailureKind::ContextExceeded, &["context length of only"]),
    (FailureKind::ContextExceeded, &["input length", "exceeds", "context"]),
    (FailureKind::ContextExceeded, &["input is too long for requested model"]),
    (FailureKind::ContextExceeded, &["`inputs` tokens + `max_new_tokens`"]),
    (FailureKind::NoCredit, &["credit balance is too low"]),
    (FailureKind::NoCredit, &["insufficient balance"]),
    (FailureKind::NoCredit, &["insufficient credits"]),
    (FailureKind::NoCredit, &["credits are depleted"]),
    (FailureKind::NoCredit, &["requires more credits"]),
    (FailureKind::BadKey, &["api key not valid"]),
    (FailureKind::BadKey, &["incorrect api key"]),
    (FailureKind::BadKey, &["invalid api key"]),
    (FailureKind::BadKey, &["missing api key"]),
    (FailureKind::Moderated, &["content filtering policy"]),
    (FailureKind::Moderated, &["content management policy"]),
    (FailureKind::Moderated, &["requires moderation"]),
    (FailureKind::Moderated, &["content exists risk"]),
    (FailureKind::Moderated, &["flagged", "usage polic"]),
    (FailureKind::UnknownModel, &["is not a valid model"]),
    (FailureKind::UnknownModel, &["no endpoints found for"]),
    (FailureKind::UnknownModel, &["model", "does not exist"]),
    (FailureKind::UnknownModel, &["try pulling it first"]),
    (FailureKind::UnknownModel, &["model not exist"]),
    (FailureKind::Unavailable, &["overloaded"]),
];

/// Returns whether tools are refused because the server was started without a flag (vLLM,
/// llama.cpp), and not by the model.
pub(super) fn is_server_flag(message: &str) -> bool {
    ["--enable-auto-tool-choice", "--jinja"].iter().any(|flag| message.contains(flag))
}

/// Returns the kind of a failure with this status; without a status it occurred inside an answer.
pub(super) fn classify(status: Option<u16>, said: &ErrorBody) -> FailureKind {
    let status = status.filter(|status| *status >= 400).or(said.status);
    let words = said.words.to_lowercase();
    let by_words = WORDS
        .iter()
        .find(|(_, all)| all.iter().all(|part| words.contains(part)))
        .map(|(kind, _)| *kind);
    // A permanent failure by its message is never transient, whatever its code.
    if let Some(kind) = by_words.filter(|kind| !kind.is_transient()) {
        return kind;
    }
    let by_code = CODES.iter().find(|(_, codes)| said.has_code(codes)).map(|(kind, _)| *kind);
    if let Some(kind) = by_code {
        return kind;
    }
    if status == Some(404) && names_a_model(said, &words) {
        return FailureKind::UnknownModel;
    }
    by_words.or_else(|| status.map(classify_status)).unwrap_or(FailureKind::Unavailable)
}

/// Returns whether a 404 is about a model and not about the path: Anthropic sends `model: NAME`,
/// Gemini `models/NAME is not found`, Ollama `model 'NAME' not found`.
fn names_a_model(said: &ErrorBody, words: &str) -> bool {
    let told = said.has_code(&["not_found_error", "notfounderror", "not_found"]);
    words.contains("model") && (told || words.contains("not found"))
}

fn classify_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::BadKey,
        402 => FailureKind::NoCredit,
        429 => FailureKind::RateLimited,
        // 409: a lock at the provider (OpenAI). 52x and 530: Cloudflare in front of it; 529:
        // Anthropic.
        408 | 409 | 500 | 502 | 503 | 504 | 520..=530 => FailureKind::Unavailable,
        _ => FailureKind::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureKind::*;

    fn check(status: u16, body: &str, expected: FailureKind) {
        let said = ErrorBody::parse(body.as_bytes());
        assert_eq!(classify(Some(status), &said), expected, "{status} {body}");
    }

    fn error(status: u16, members: &str, expected: FailureKind) {
        check(status, &format!("{{\"error\":{{{members}}}}}"), expected);
    }

    #[test]
    fn openai() {
        error(
            401,
            r#""message":"Incorrect API key provided: sk-x","code":"invalid_api_key""#,
            BadKey,
        );
        error(
            404,
            r#""message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found""#,
            UnknownModel,
        );
        error(
            400,
            r#""message":"This model's maximum context length is 8 tokens","code":"context_length_exceeded""#,
            ContextExceeded,
        );
        error(
            400,
            r#""message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":null"#,
            ContextExceeded,
        );
        error(
            429,
            r#""message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota""#,
            NoCredit,
        );
        error(
            429,
            r#""message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded""#,
            RateLimited,
        );
        error(400, r#""message":"The response was filtered","code":"content_filter""#, Moderated);
        error(
            400,
            r#""message":"tools is not supported in this model.","type":"invalid_request_error","param":"tools""#,
            NoTools,
        );
        error(
            400,
            r#""message":"Unsupported parameter: 'max_tokens'","code":"unsupported_parameter""#,
            BadRequest,
        );
        error(500, r#""message":"The server had an error","type":"server_error""#, Unavailable);
        error(
            403,
            r#""message":"Country not supported","code":"unsupported_country_region_territory""#,
            BadRequest,
        );
    }

    #[test]
    fn anthropic() {
        let row = |status, kind: &str, message: &str, expected| {
            let error = format!(r#"{{"type":"{kind}","message":"{message}"}}"#);
            check(status, &format!(r#"{{"type":"error","error":{error}}}"#), expected);
        };
        row(401, "authentication_error", "invalid x-api-key", BadKey);
        row(403, "permission_error", "Your API key does not have permission", BadKey);
        row(404, "not_found_error", "model: claude-9", UnknownModel);
        row(404, "not_found_error", "Not found", BadRequest);
        row(
            400,
            "invalid_request_error",
            "prompt is too long: 214000 tokens > 200000 maximum",
            ContextExceeded,
        );
        row(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
            ContextExceeded,
        );
        row(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            NoCredit,
        );
        row(400, "invalid_request_error", "Output blocked by content filtering policy", Moderated);
        row(400, "invalid_request_error", "messages: at least one message is required", BadRequest);
        row(413, "request_too_large", "Request exceeds the maximum size", BadRequest);
        row(429, "rate_limit_error", "too many tokens", RateLimited);
        row(529, "overloaded_error", "Overloaded", Unavailable);
        row(500, "api_error", "Internal server error", Unavailable);
        row(200, "overloaded_error", "Overloaded", Unavailable);
    }

    #[test]
    fn gemini() {
        error(
            400,
            r#""code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]"#,
            BadKey,
        );
        error(
            403,
            r#""code":403,"message":"Method doesn't allow unregistered callers","status":"PERMISSION_DENIED""#,
            BadKey,
        );
        error(
            404,
            r#""code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND""#,
            UnknownModel,
        );
        error(
            400,
            r#""code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT""#,
            ContextExceeded,
        );
        error(
            429,
            r#""code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED""#,
            RateLimited,
        );
        error(
            503,
            r#""code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE""#,
            Unavailable,
        );
        error(
            400,
            r#""code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT""#,
            NoTools,
        );
        error(
            400,
            r#""code":400,"message":"missing a thought_signature","status":"INVALID_ARGUMENT""#,
            BadRequest,
        );
        check(429, r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#, RateLimited);
    }

    #[test]
    fn compatible_servers() {
        check(
            400,
            r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#,
            NoTools,
        );
        check(404, r#"{"error":"model 'x' not found"}"#, UnknownModel);
        check(404, r#"{"error":"model \"x\" not found, try pulling it first"}"#, UnknownModel);
        check(
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}"#,
            NoTools,
        );
        check(
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            UnknownModel,
        );
        check(
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","code":400}"#,
            ContextExceeded,
        );
        error(
            500,
            r#""code":500,"message":"tools param requires --jinja flag","type":"server_error""#,
            NoTools,
        );
        error(
            400,
            r#""code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"exceed_context_size_error""#,
            ContextExceeded,
        );
        error(
            503,
            r#""code":503,"message":"Loading model","type":"unavailable_error""#,
            Unavailable,
        );
        error(
            404,
            r#""message":"No endpoints found that support tool use. To learn more","code":404"#,
            NoTools,
        );
        error(404, r#""message":"No endpoints found for a/b.","code":404"#, UnknownModel);
        error(400, r#""message":"a/b is not a valid model ID","code":400"#, UnknownModel);
        error(402, r#""message":"Insufficient credits","code":402"#, NoCredit);
        error(402, r#""message":"Insufficient Balance","type":"unknown_error""#, NoCredit);
        error(
            403,
            r#""message":"Chat requires moderation on OpenInference. Your input was flagged","code":403"#,
            Moderated,
        );
        error(
            400,
            r#""message":"`tool calling` is not supported with this model","type":"invalid_request_error""#,
            NoTools,
        );
        error(
            400,
            r#""message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed""#,
            Unavailable,
        );
        error(200, r#""message":"Provider returned error","code":502"#, Unavailable);
        error(200, r#""message":"Rate limit exceeded","code":429"#, RateLimited);
        error(
            413,
            r#""message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000","code":"rate_limit_exceeded""#,
            ContextExceeded,
        );
        check(200, r#"{"error":"an error was encountered while running the model"}"#, Unavailable);
    }

    #[test]
    fn bodies_that_say_nothing() {
        for (status, expected) in [
            (400, BadRequest),
            (401, BadKey),
            (403, BadKey),
            (404, BadRequest),
            (408, Unavailable),
            (409, Unavailable),
            (413, BadRequest),
            (422, BadRequest),
            (429, RateLimited),
            (500, Unavailable),
            (501, BadRequest),
            (502, Unavailable),
            (503, Unavailable),
            (504, Unavailable),
            (524, Unavailable),
            (529, Unavailable),
        ] {
            check(status, "", expected);
            check(status, "<html><title>Sorry</title></html>", expected);
            check(status, "{}", expected);
        }
    }
}

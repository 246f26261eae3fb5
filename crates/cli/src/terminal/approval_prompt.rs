//! The prompt for a call that needs approval: shows everything that the decision concerns, without
//! shortening, and with control characters escaped.

use serde_json::{Value, json};
use toolcrib_core::{ApprovalReason, ApprovalRequest, Risk};

use super::call_preview::preview_call;
use super::style::{Style, Styler};
use super::{escape_controls, escape_to_line};

/// Renders the prompt; with `full`, an argument that a preview shows is also shown as JSON.
pub(super) fn render_approval(request: &ApprovalRequest, paint: Styler, full: bool) -> String {
    let (risk, style) = match request.risk {
        Risk::Safe => ("safe", Style::GREEN),
        Risk::High => ("HIGH", Style::YELLOW),
        Risk::Critical => ("CRITICAL", Style { bold: true, ..Style::RED }),
    };
    let agent = match request.context.agent.as_str() {
        "" => String::new(),
        agent => format!("{} asks to run ", escape_to_line(agent)),
    };
    let mut card = format!(
        "\n{} {agent}{}: {}\n  risk: {}\n",
        paint.styled(Style { bold: true, ..Style::YELLOW }, "?"),
        paint.bold(&escape_to_line(request.tool.as_str())),
        escape_to_line(&request.summary),
        paint.styled(style, risk),
    );
    for reason in &request.reasons {
        card += &format!("  why asked: {}\n", escape_to_line(&describe_reason(reason)));
    }
    if let Some(end) = request.expires_at {
        let seconds = end.saturating_sub(request.requested_at) / 1000;
        card += &format!("  waits {seconds} s for an answer\n");
    }
    let preview =
        preview_call(request.tool.as_str(), &request.args, &request.context.workspace, paint);
    let hidden = preview.as_ref().filter(|_| !full).map_or(&[][..], |preview| preview.shows);
    card += &render_args(&request.args, hidden);
    if let Some(preview) = preview.filter(|_| !full) {
        card += &preview.text;
    }
    card
}

/// Describes a reason for asking, with its rule, unless the text already names the rule.
pub(crate) fn describe_reason(reason: &ApprovalReason) -> String {
    match &reason.rule {
        Some(rule) if !reason.text.contains(&rule.origin) => format!("{} [{rule}]", reason.text),
        _ => reason.text.clone(),
    }
}

/// Renders all arguments, escaped and complete, except the hidden ones, which are shown elsewhere.
pub(crate) fn render_args(args: &Value, hidden: &[&str]) -> String {
    let mut args = args.clone();
    if let Some(object) = args.as_object_mut() {
        for name in hidden {
            if let Some(value) = object.get_mut(*name) {
                *value = json!("(below; [v] shows it here)");
            }
        }
    }
    let text = format!("{args:#}").replace('\n', "\n  ");
    format!("  arguments: {}\n", escape_controls(&text))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use toolcrib_core::{
        ApprovalId, CallId, Context, Effect, Origin, Reach, ReasonKind, RuleRef, ToolName, Verdict,
    };

    pub(in crate::terminal) fn request(tool: &str, args: Value) -> ApprovalRequest {
        ApprovalRequest {
            question: None,
            id: ApprovalId::fresh(),
            call: CallId::fresh(),
            run: None,
            tool: ToolName::local(tool).unwrap(),
            operation: tool.into(),
            args,
            risk: Risk::High,
            effect: Effect::Destructive,
            reach: Reach::default(),
            summary: "delete \u{202e}txt.exe\nrisk: safe".into(),
            reasons: vec![],
            origin: Origin::Cli,
            context: Context { agent: "Helper".to_owned(), ..Context::default() },
            definition_hash: String::new(),
            binding: String::new(),
            requested_at: 1_000,
            expires_at: Some(61_000),
        }
    }

    #[test]
    fn a_card_shows_all_arguments_and_nothing_that_moves_the_cursor() {
        let long = "x".repeat(5000);
        let request = request("delete_file", json!({"path": format!("{long}\u{1b}[2K")}));
        let card = render_approval(&request, Styler { colour: false }, false);
        assert!(card.contains(&long) && card.contains("HIGH") && card.contains("60 s"));
        assert!(card.contains("Helper asks to run delete_file"), "{card}");
        assert!(!card.contains('\u{1b}') && !card.contains('\u{202e}'), "{card:?}");
        let begins = |word: &str| card.lines().filter(|l| l.trim_start().starts_with(word)).count();
        assert_eq!(begins("risk:"), 1, "a summary must not write lines of the card: {card}");
    }

    #[test]
    fn the_rule_behind_a_reason_is_named_once() {
        let rule = RuleRef {
            effect: Verdict::Ask,
            rule: "Bash(git push:*)".into(),
            origin: "rules.toml:12".into(),
            reason: Some("pushing leaves this machine".into()),
        };
        let whole = rule.to_string();
        let mut request = request("execute_shell_command", json!({}));
        let reason =
            |text: &str, rule| ApprovalReason { kind: ReasonKind::Rule, text: text.into(), rule };
        request.reasons = vec![
            reason("a rule asks", Some(rule.clone())),
            reason(&format!("asked by {whole}"), Some(rule)),
            reason("risk\n  risk: safe", None),
        ];
        let card = render_approval(&request, Styler { colour: false }, false);
        assert!(card.contains(&format!("  why asked: a rule asks [{whole}]\n")), "{card}");
        assert!(card.contains(&format!("  why asked: asked by {whole}\n")), "{card}");
        assert_eq!(card.matches("\n  risk:").count(), 1, "{card}");
    }

    #[test]
    fn what_a_preview_shows_is_in_the_arguments_on_demand() {
        let request = request("write_file", json!({"path": "new.txt", "content": "one\ntwo\n"}));
        let short = render_approval(&request, Styler { colour: false }, false);
        assert!(short.contains("+one\n+two\n") && !short.contains(r"one\ntwo"), "{short}");
        let full = render_approval(&request, Styler { colour: false }, true);
        assert!(full.contains(r#""content": "one\ntwo\n""#) && !full.contains("+one"), "{full}");
    }
}

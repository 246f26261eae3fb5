//! The words of plain-language orders in fifteen languages.
//!
//! Every entry is the beginning of a word, or a whole word when it ends in `|`. Entries are
//! folded before use ([`super::fold`]), so accents may be written or left out.

use super::report::FlagKind;

/// What a word can be in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// "ignore …": what is to be dropped follows.
    Verb,
    /// The same where the verb may come last.
    AnyVerb,
    /// "override …": honest more often, so it needs a clear object.
    WeakVerb,
    /// "instructions": hardly means anything else beside such a verb.
    Object,
    /// "rules", "prompt": means many things.
    WeakObject,
    /// "previous", "your": whose instructions.
    Near,
    /// "all", "any".
    Broad,
    /// An order by itself.
    Phrase(FlagKind),
    /// The first or second word of a [`PAIRS`] rule.
    Part(usize, Step),
}

/// The place of a word in a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    First,
    Second,
}

/// The words of one class in one group of languages.
pub(super) struct Words {
    pub(super) class: Class,
    /// Whether words are set apart by blanks, so that an entry must begin a word.
    pub(super) spaced: bool,
    pub(super) words: &'static [&'static str],
}

const fn spaced(class: Class, words: &'static [&'static str]) -> Words {
    Words { class, spaced: true, words }
}

const fn dense(class: Class, words: &'static [&'static str]) -> Words {
    Words { class, spaced: false, words }
}

/// Orders that take one verb, one object and one qualifier near each other.
pub(super) const WORDS: &[Words] = &[
    // English, and what it shares with the Romance languages.
    spaced(Class::Verb, &[
        "ignore|", "ignoring|", "disregard", "forget|", "do not follow|", "don't follow|",
        "stop following|", "do not obey|", "don't obey|", "pay no attention to|",
    ]),
    spaced(Class::WeakVerb, &["override|", "bypass|"]),
    spaced(Class::Object, &[
        "instruction|", "instructions|", "guideline|", "guidelines|", "directive|", "directives|",
        "directions|",
    ]),
    spaced(Class::WeakObject, &[
        "prompt|", "prompts|", "rules|", "context|", "commands|", "constraints|", "training|",
        "orders|", "everything|",
    ]),
    spaced(Class::Near, &[
        "previous|", "previously|", "prior|", "above|", "earlier|", "preceding|", "your|",
        "system|", "original|", "initial|", "foregoing|", "developer|", "you know|",
        "you were told|", "you have been told|", "you've been told|", "before this|",
    ]),
    spaced(Class::Broad, &["all|", "any|", "every|"]),
    // German, Dutch: the verb may come last.
    spaced(Class::AnyVerb, &[
        "ignorier", "vergiss|", "vergessen sie|", "missachte", "nicht beacht", "negeer", "vergeet|",
    ]),
    spaced(Class::Object, &["anweisung", "instruktion", "richtlinie", "instructie", "richtlijn"]),
    spaced(Class::WeakObject, &["vorgaben|", "regeln|", "befehle|", "regels|", "opdracht"]),
    spaced(Class::Near, &[
        "vorherig", "bisherig", "vorig", "obig", "vorangegangen", "vorangehend", "deine|", "ihre|",
        "fruher", "eerdere|", "bovenstaande|", "voorgaande|", "jouw|",
    ]),
    spaced(Class::Broad, &["alle|", "jegliche"]),
    // French, Spanish, Italian, Portuguese.
    spaced(Class::Verb, &[
        "ignorez|", "ignorer|", "oublie|", "oubliez|", "ne tiens pas compte|",
        "ne tenez pas compte|", "ignora|", "ignorar|", "ignorad|", "olvida", "haz caso omiso|",
        "ignorate|", "ignorare|", "dimentica", "esqueca", "esquecer|", "desconsider",
    ]),
    spaced(Class::Object, &[
        "consigne", "instruccion", "directric", "istruzion", "direttiv", "instruco", "instrucao|",
        "diretriz",
    ]),
    spaced(Class::WeakObject, &[
        "regles|", "reglas|", "indicacion", "ordenes|", "regole|", "indicazion", "regras|",
        "orientaco",
    ]),
    spaced(Class::Near, &[
        "precedent", "anterieur", "ci-dessus|", "vos|", "tes|", "anterior", "previas|", "previos|",
        "tus|", "sopra|", "tue|", "acima|", "suas|",
    ]),
    spaced(Class::Broad, &["toutes|", "tous|", "todas|", "todos|", "tutte|", "tutti|"]),
    // Polish, Russian, Turkish.
    spaced(Class::AnyVerb, &[
        "zignoruj", "ignoruj", "zapomnij", "pomin|", "игнорируй", "проигнорируй", "забудь",
        "не следуй", "yok say", "gormezden gel", "goz ardi et", "dikkate alma", "unut|",
    ]),
    spaced(Class::Object, &[
        "instrukcj", "polecen", "wytyczn", "инструкци", "указани", "talimat", "yonerge",
    ]),
    spaced(Class::WeakObject, &["zasad", "правил", "команд", "подсказк", "komut", "kural"]),
    spaced(Class::Near, &[
        "poprzedni", "wczesniejsz", "powyzsz", "swoje|", "twoje|", "предыдущ", "прежн", "вышеуказ",
        "вышеизлож", "выше|", "ранее|", "твои|", "свои|", "onceki|", "yukaridaki|",
    ]),
    spaced(Class::Broad, &["wszystkie|", "wszelkie|", "все|", "всё|", "любые|", "tum|", "butun|"]),
    // Chinese, Japanese, Korean, Arabic, Hindi.
    dense(Class::AnyVerb, &[
        "忽略", "无视", "無視", "忘记", "忘記", "忽視", "不要遵守", "不要遵循", "忘れ", "무시",
        "잊어", "따르지", "تجاهل", "لا تتبع", "अनदेखा", "अनदेखी", "नज़रअंदाज", "नजरअंदाज", "भूल जा",
    ]),
    dense(Class::Object, &[
        "指令", "指示", "インストラクション", "지시", "지침", "تعليمات", "التوجيهات", "निर्देश",
    ]),
    dense(Class::WeakObject, &[
        "提示", "规则", "規則", "命令", "说明", "說明", "プロンプト", "ルール", "명령", "규칙", "프롬프트",
        "الاوامر", "القواعد", "आदेश", "नियम",
    ]),
    dense(Class::Near, &[
        "之前", "以前", "先前", "前面", "上面", "上述", "以上", "此前", "你的", "您的", "系统", "系統",
        "これまで", "上記", "前の", "先ほど", "今まで", "あなたの", "이전", "앞의", "위의", "앞선", "지금까지",
        "السابق", "اعلاه", "पिछल", "पहले के", "उपरोक्त", "ऊपर",
    ]),
    dense(Class::Broad, &["所有", "一切", "全部", "任何", "すべて", "全て", "모든", "جميع", "सभी", "सारे"]),
    // Orders by themselves.
    spaced(Class::Phrase(FlagKind::OverrideInstructions), &[
        "ignore the above and|", "disregard the above|", "ignore all of the above|",
        "disregard all of the above|", "no longer bound by|",
    ]),
    spaced(Class::Phrase(FlagKind::NewRole), &[
        "you are now a|", "you are now an|", "you are now the|", "you're now a|", "you are now my|",
        "you are now in developer mode|", "you are now dan|", "you are now operating as|",
        "you are now acting|", "you are now free|", "you are now unrestricted|",
        "you are now jailbroken|", "your new instructions|", "new instructions:",
        "new system prompt:", "du bist jetzt ein", "du bist nun ein", "neue anweisungen:",
        "tu es maintenant un", "vous etes maintenant un", "nouvelles instructions:",
        "nouvelles instructions :", "ahora eres un", "nuevas instrucciones:", "ora sei un",
        "adesso sei un", "nuove istruzioni:", "agora voce e um", "novas instrucoes:",
        "je bent nu een", "nieuwe instructies:", "jestes teraz", "nowe instrukcje:",
        "ты теперь", "теперь ты|", "новые инструкции:", "artik sen bir", "yeni talimatlar:",
    ]),
    dense(Class::Phrase(FlagKind::NewRole), &[
        "你现在是一", "您现在是一", "從現在起你是", "从现在起你是", "新的指令:", "新指令:", "あなたは今から",
        "新しい指示:", "당신은 이제", "너는 이제", "새로운 지시:", "أنت الآن", "تعليمات جديدة:", "अब आप एक",
        "अब तुम एक", "नए निर्देश:",
    ]),
    spaced(Class::Phrase(FlagKind::HideFromUser), &[
        "sag dem benutzer nicht", "sag dem nutzer nicht", "ohne den benutzer zu informieren",
        "ohne den nutzer zu informieren", "ne dis pas a l'utilisateur", "ne dis rien a l'utilisateur",
        "ne dites pas a l'utilisateur", "ne dites rien a l'utilisateur", "no le digas al usuario",
        "no se lo digas al usuario", "sin decirle al usuario", "non dire all'utente",
        "non dirlo all'utente", "nao diga ao usuario", "nao conte ao usuario",
        "vertel de gebruiker niet", "nie mow uzytkownikowi", "не говори пользователю",
        "не сообщай пользователю", "kullaniciya soyleme", "kullaniciya bahsetme",
    ]),
    dense(Class::Phrase(FlagKind::HideFromUser), &[
        "不要告诉用户", "别告诉用户", "不要告訴使用者", "不要告訴用戶", "ユーザーに言わない", "ユーザーには言わない",
        "ユーザーに伝えない", "ユーザーには伝えない", "ユーザーに知らせない", "사용자에게 알리지", "사용자에게 말하지",
        "لا تخبر المستخدم", "उपयोगकर्ता को मत बता", "उपयोगकर्ता को न बता",
    ]),
    spaced(Class::Phrase(FlagKind::AddressModel), &[
        "if you are an ai|", "if you are a language model|", "if you are an llm|",
        "if you are a large language model|", "if you're an ai|", "note to ai|", "attention ai|",
        "note to llm", "attention llm", "ai assistants must|", "ai agents must|",
        "ai assistant must|", "any ai reading this|", "important message for ai|",
    ]),
];

/// An order made of two words in this order.
pub(super) struct Pair {
    pub(super) kind: FlagKind,
    pub(super) first: &'static [&'static str],
    pub(super) second: &'static [&'static str],
    /// Most characters between the two.
    pub(super) gap: usize,
    /// Whether an address (`http…`) must follow within [`Pair::gap`] characters.
    pub(super) to_address: bool,
}

/// Orders made of two words.
pub(super) const PAIRS: &[Pair] = &[
    Pair {
        kind: FlagKind::HideFromUser,
        first: &[
            "do not tell|", "don't tell|", "never tell|", "without telling|", "do not inform|",
            "don't inform|", "never inform|", "without informing|", "do not mention|",
            "don't mention|", "never mention|", "without mentioning|", "do not reveal|",
            "don't reveal|", "without alerting|", "do not alert|", "don't alert|",
        ],
        second: &["the user|", "the human|", "the operator|", "to user|"],
        gap: 40,
        to_address: false,
    },
    Pair {
        kind: FlagKind::RevealPrompt,
        first: &[
            "reveal|", "print|", "repeat|", "leak|", "disclose|", "output|", "expose|", "tell me|",
            "show me|", "show|", "display|", "give me|", "write down|",
        ],
        second: &[
            "your prompt|", "your system prompt|", "your instructions|", "your system message|",
            "your initial instructions|", "your initial prompt|", "your hidden|",
            "your original instructions|", "the system prompt|", "your full prompt|",
            "your system instructions|",
        ],
        gap: 24,
        to_address: false,
    },
    Pair {
        kind: FlagKind::SendData,
        first: &[
            "send the|", "send all|", "send your|", "send every", "send any|", "send this|",
            "forward the|", "forward all|", "upload the|", "upload all|", "upload your|",
            "post the|", "exfiltrat", "transmit|",
        ],
        second: &[
            "conversation", "chat history|", "password", "credential", "api key", "secrets|",
            "private key", "ssh key", "environment variables|", "system prompt|", "access token",
            "contents of|", "the user's|",
        ],
        gap: 60,
        to_address: true,
    },
    Pair {
        kind: FlagKind::ForceTool,
        first: &[
            "you must call|", "you must invoke|", "you must now call|", "you must immediately call|",
            "you must first call|", "immediately call|", "now call|", "must use|",
        ],
        second: &["the tool|", "tool with|", "tool call|", "tool now|", "tool immediately|"],
        gap: 40,
        to_address: false,
    },
];

/// What is looked for first in ASCII text, with a fast multi-string search. Every order that can
/// be written in ASCII contains one of them; a test holds the tables to that.
pub(super) const ANCHORS: &[&str] = &[
    "ignor", "disregard", "forget", "not follow", "n't follow", "stop following", "not obey",
    "n't obey", "pay no att", "overrid", "bypass", "vergiss", "vergessen sie", "missachte",
    "nicht beacht", "negeer", "vergeet", "oublie", "ne tiens pas", "ne tenez pas", "olvida",
    "haz caso", "dimentica", "esquec", "desconsider", "zapomnij", "pomin", "yok say",
    "gormezden", "goz ardi", "dikkate alma", "unut", "no longer bound", "you are now",
    "you're now", "new instructions", "new system", "not tell", "n't tell", "never tell",
    "not inform", "n't inform", "never inform", "without ", "not mention", "n't mention",
    "never mention", "not reveal", "n't reveal", "not alert", "n't alert", "your prompt",
    "your system", "your instr", "your initial", "your hidden", "your original", "your full",
    "system prompt", "exfiltrat", "you must",
];

/// The rest of [`ANCHORS`]: the fast search takes 64 at a time.
pub(super) const MORE_ANCHORS: &[&str] = &[
    "send the", "send all", "send your", "send every", "send any", "send this", "forward the",
    "forward all", "upload the", "upload all", "upload your", "post the", "transmit", "ely call",
    "now call", "must use", "bist jetzt", "bist nun", "neue anw", "es maintenant", "s instructions",
    "ahora eres", "nuevas inst", "ora sei", "adesso sei", "nuove istr", "agora voce", "novas inst",
    "je bent nu", "nieuwe inst", "jestes teraz", "nowe inst", "artik sen", "yeni tal",
    "sag dem", "ohne den", "ne dis ", "ne dites ", "no le digas", "no se lo dig", "sin decirle",
    "non dir", "nao diga", "nao conte", "vertel de", "nie mow", "kullaniciya", "you are a",
    "you're an ai", "note to", "attention", "ai assis", "ai agents", "any ai", "ge for ai",
];

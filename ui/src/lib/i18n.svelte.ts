// Texts in the language of the person. Every text is in `texts/`; English is the one that is
// complete by definition, and the type checker compares the others with it.
import { en, type Key } from "../texts/en";
import { de, toolTitlesDe } from "../texts/de";

export type Language = "en" | "de";
const STORED = "toolcrib-language";

function first(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "en" || stored === "de") return stored;
  return navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
}

class I18n {
  language = $state<Language>(first());

  use(language: Language): void {
    this.language = language;
    localStorage.setItem(STORED, language);
    document.documentElement.lang = language;
  }
}

export const i18n = new I18n();

export function t(key: Key, values: Record<string, string | number> = {}): string {
  const text: string = i18n.language === "de" ? de[key] : en[key];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The text of a key that is made at run time, such as a state; the word itself where there is none. */
export function tOr(key: string, fallback: string): string {
  return key in en ? t(key as Key) : fallback;
}

/** The title of a tool in the language of the person. */
export function toolTitle(name: string, title?: string): string {
  if (i18n.language === "de" && toolTitlesDe[name]) return toolTitlesDe[name];
  return title ?? name.replaceAll("_", " ").replace(/^\w/, (letter) => letter.toUpperCase());
}

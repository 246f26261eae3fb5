// Texts in the language of the person. Every text is in `texts/`; English is the one that is
// complete by definition, and the type checker compares the others with it. The others are loaded
// when they are chosen.
import { en, type Key } from "../texts/en";

export type Language = "en" | "de";
const STORED = "toolcrib-language";

function first(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "en" || stored === "de") return stored;
  return navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
}

interface Catalogue {
  texts: Record<Key, string>;
  toolTitles: Record<string, string>;
  toolGroups: Record<string, string>;
}

class I18n {
  language = $state<Language>("en");
  catalogue = $state.raw<Catalogue>({ texts: en, toolTitles: {}, toolGroups: {} });

  /** Loads the language of the person; the page is shown after it. */
  start(): Promise<void> {
    return this.load(first());
  }

  async use(language: Language): Promise<void> {
    await this.load(language);
    localStorage.setItem(STORED, language);
  }

  private async load(language: Language): Promise<void> {
    const german = language === "de" ? await import("../texts/de") : null;
    this.catalogue = german ? { texts: german.de, toolTitles: german.toolTitlesDe, toolGroups: german.toolGroupsDe } : { texts: en, toolTitles: {}, toolGroups: {} };
    this.language = language;
    document.documentElement.lang = language;
  }
}

export const i18n = new I18n();

/** A text with its values. `{count}` is a value; `{count:tool|tools}` is the first word for 1, and the
 *  second for every other number. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const text = i18n.catalogue.texts[key];
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name: string, one?: string, many?: string) => {
    const value = values[name] ?? whole;
    return one === undefined || many === undefined ? String(value) : Number(value) === 1 ? one : many;
  });
}

/** The text of a key that is made at run time, such as a state; the word itself where there is none. */
export function tOr(key: string, fallback: string): string {
  return key in en ? t(key as Key) : fallback;
}

/** The title of a tool in the language of the person. */
export function toolTitle(name: string, title?: string): string {
  return i18n.catalogue.toolTitles[name] ?? title ?? name.replaceAll("_", " ").replace(/^\w/, (letter) => letter.toUpperCase());
}

/** The name of a group of tools in the language of the person. */
export function toolGroup(name: string): string {
  return i18n.catalogue.toolGroups[name] ?? name;
}

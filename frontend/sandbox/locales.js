// What the parts of Intl share: which locales there are, and how options are read.

const KNOWN = ["en", "en-US", "en-GB", "en-CA"];
export const DEFAULT_LOCALE = "en-US";

export function canonical(locales) {
  if (locales === undefined) return [];
  const list = typeof locales === "string" || locales instanceof Locale ? [locales] : [...locales];
  return list.map((one) => {
    const text = String(one);
    if (!/^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/.test(text)) throw new RangeError(`Incorrect locale information provided: ${text}`);
    const [language, ...rest] = text.split(/[-_]/);
    return [language.toLowerCase(), ...rest.map((part) => (part.length === 2 ? part.toUpperCase() : part.length === 4 ? part[0].toUpperCase() + part.slice(1).toLowerCase() : part.toLowerCase()))].join("-");
  });
}

// The first that is there; the others are answered in the default one.
export function localeOf(locales, more = []) {
  for (const one of canonical(locales)) {
    if (KNOWN.includes(one) || more.includes(one)) return one;
    if (one.startsWith("en-")) return one.startsWith("en-US") ? "en-US" : "en-GB";
  }
  return DEFAULT_LOCALE;
}

export const supportedLocalesOf = (locales) => canonical(locales).filter((one) => one === "en" || one.startsWith("en-"));

export function chosen(options, name, allowed, otherwise) {
  const value = options[name];
  if (value === undefined) return otherwise;
  if (!allowed.includes(String(value))) throw new RangeError(`Value ${value} out of range for Intl options property ${name}`);
  return String(value);
}

export class Locale {
  #tag;

  constructor(tag) {
    [this.#tag] = canonical([tag]);
  }

  get language() {
    return this.#tag.split("-")[0];
  }

  get region() {
    return this.#tag.split("-").find((part, i) => i && part.length === 2);
  }

  get baseName() {
    return this.#tag;
  }

  toString() {
    return this.#tag;
  }
}

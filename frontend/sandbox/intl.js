// Intl for English and every time zone, and the methods of numbers, dates and texts that stand on it. Small on
// purpose: it lies in the memory that every script starts from. Segmenter, DisplayNames and DurationFormat
// are absent.

import { DateTimeFormat } from "./dates.js";
import { canonical, chosen, Locale, localeOf, supportedLocalesOf } from "./locales.js";
import { NumberFormat, PluralRules } from "./numbers.js";

class ListFormat {
  #o;

  constructor(locales, options = {}) {
    const type = chosen(options, "type", ["conjunction", "disjunction", "unit"], "conjunction");
    this.#o = { locale: localeOf(locales), type, style: chosen(options, "style", ["long", "short", "narrow"], "long") };
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  format(list) {
    const { type, style } = this.#o;
    const items = [...list];
    const word = type === "disjunction" ? "or" : type === "unit" ? "" : style === "long" ? "and" : style === "short" ? "&" : "";
    if (items.length < 2) return items.join("");
    const last = items.pop();
    if (items.length === 1) return word ? `${items[0]} ${word} ${last}` : `${items[0]}, ${last}`;
    return `${items.join(", ")}, ${word ? `${word} ` : ""}${last}`;
  }

  resolvedOptions() {
    return { ...this.#o };
  }
}

const NAMED = { "day 0": "today", "day 1": "tomorrow", "day -1": "yesterday" };

class RelativeTimeFormat {
  #o;
  #numbers;

  constructor(locales, options = {}) {
    const numeric = chosen(options, "numeric", ["always", "auto"], "always");
    this.#o = { locale: localeOf(locales), style: chosen(options, "style", ["long", "short", "narrow"], "long"), numeric };
    this.#numbers = new NumberFormat(locales);
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  format(value, unit) {
    const name = String(unit).replace(/s$/, "");
    if (!["second", "minute", "hour", "day", "week", "month", "quarter", "year"].includes(name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
    const number = Number(value);
    if (this.#o.numeric === "auto") {
      if (NAMED[`${name} ${number}`]) return NAMED[`${name} ${number}`];
      if (number === 0) return name === "second" ? "now" : `this ${name}`;
      if (Math.abs(number) === 1 && ["week", "month", "quarter", "year"].includes(name)) return `${number > 0 ? "next" : "last"} ${name}`;
    }
    const size = Math.abs(number);
    const text = `${this.#numbers.format(size)} ${name}${size === 1 ? "" : "s"}`;
    return number < 0 || Object.is(number, -0) ? `${text} ago` : `in ${text}`;
  }

  resolvedOptions() {
    return { ...this.#o };
  }
}

const MARKS = /[\u0300-\u036f]/g;
const letters = (text) => (/^[ -~]*$/.test(text) ? text : text.normalize("NFD").replace(MARKS, "")).toLowerCase();
const byOrder = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Letters first, then their marks, then small before large: the order of dictionaries.
class Collator {
  #o;
  #bound;

  constructor(locales, options = {}) {
    const sensitivity = chosen(options, "sensitivity", ["base", "accent", "case", "variant"], "variant");
    this.#o = { locale: localeOf(locales), usage: "sort", sensitivity, numeric: Boolean(options.numeric), ignorePunctuation: Boolean(options.ignorePunctuation) };
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get compare() {
    return (this.#bound ??= (a, b) => this.#compare(String(a), String(b)));
  }

  resolvedOptions() {
    return { ...this.#o };
  }

  #compare(a, b) {
    if (a === b) return 0;
    const { sensitivity, numeric, ignorePunctuation } = this.#o;
    if (ignorePunctuation) [a, b] = [a, b].map((text) => text.replace(/[\p{P}\s]/gu, ""));
    const first = numeric ? byNumbers(letters(a), letters(b)) : byKinds(letters(a), letters(b));
    if (first || sensitivity === "base") return first;
    if (sensitivity !== "case") {
      const marked = byOrder(a.normalize("NFD").toLowerCase(), b.normalize("NFD").toLowerCase());
      if (marked || sensitivity === "accent") return marked;
    }
    return -byOrder(a.normalize("NFD").replace(MARKS, ""), b.normalize("NFD").replace(MARKS, ""));
  }
}

// Spaces and signs stand before digits, and digits before letters.
const kind = (letter) => (letter === undefined ? -1 : /\s/.test(letter) ? 0 : /[\p{L}]/u.test(letter) ? 3 : /\d/.test(letter) ? 2 : 1);

function byKinds(a, b) {
  if (a === b) return 0;
  const [one, other] = [[...a], [...b]];
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    if (one[i] !== other[i]) return byOrder(kind(one[i]), kind(other[i])) || byOrder(one[i], other[i]);
  }
  return 0;
}

function byNumbers(a, b) {
  const [one, other] = [a, b].map((text) => text.match(/\d+|\D+/g) ?? []);
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const [left = "", right = ""] = [one[i], other[i]];
    const both = /^\d/.test(left) && /^\d/.test(right);
    const found = both ? byOrder(BigInt(left), BigInt(right)) : byKinds(left, right);
    if (found) return found;
  }
  return 0;
}

export const Intl = { Collator, DateTimeFormat, ListFormat, Locale, NumberFormat, PluralRules, RelativeTimeFormat };
for (const [name, made] of Object.entries(Intl)) {
  Object.defineProperty(Intl, name, { value: callable(made), enumerable: false });
}
Object.defineProperty(Intl, "getCanonicalLocales", { value: canonical });
Object.defineProperty(Intl, "supportedValuesOf", { value: () => [] });
Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl" });

// The old ones may be called without `new`.
function callable(made) {
  if (![Collator, DateTimeFormat, NumberFormat].includes(made)) return made;
  return new Proxy(made, { apply: (target, _, given) => new target(...given) });
}

const define = (owner, methods) => {
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(owner.prototype, name, { value, writable: true, configurable: true });
};
// Most sorting gives no locale and no options: one collator is enough for it.
const usual = new Collator();
const dated = (needed, defaults) =>
  function (locales, options) {
    return Number.isNaN(this.getTime()) ? "Invalid Date" : new DateTimeFormat(locales, options, needed, defaults).format(this);
  };
define(Number, { toLocaleString(locales, options) { return new NumberFormat(locales, options).format(this.valueOf()); } });
define(BigInt, { toLocaleString(locales, options) { return new NumberFormat(locales, options).format(this.valueOf()); } });
define(Date, { toLocaleString: dated("any", "all"), toLocaleDateString: dated("date", "date"), toLocaleTimeString: dated("time", "time") });
define(String, {
  localeCompare(other, locales, options) {
    const collator = locales === undefined && options === undefined ? usual : new Collator(locales, options);
    return collator.compare(this, other);
  },
});

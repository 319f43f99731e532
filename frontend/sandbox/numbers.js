// Intl.NumberFormat and Intl.PluralRules for English. Other locales are answered in English, as the language
// prescribes for one that is not there. Numbering systems, ranges and rare units are absent.

import { chosen, localeOf, supportedLocalesOf } from "./locales.js";

const SYMBOLS = {
  USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$",
  MXN: "MX$", NZD: "NZ$", HKD: "HK$", TWD: "NT$", ILS: "₪", VND: "₫", XAF: "FCFA", XOF: "F\u202fCFA", PHP: "₱",
};
const NARROW = { CNY: "¥", CAD: "$", AUD: "$", MXN: "$", NZD: "$", HKD: "$", TWD: "$", SGD: "$", RUB: "₽", TRY: "₺", UAH: "₴", PLN: "zł", SEK: "kr", NOK: "kr", DKK: "kr", CZK: "Kč" };
const NAMES = {
  USD: ["US dollar", "US dollars"], EUR: ["euro", "euros"], GBP: ["British pound", "British pounds"],
  JPY: ["Japanese yen", "Japanese yen"], CAD: ["Canadian dollar", "Canadian dollars"], INR: ["Indian rupee", "Indian rupees"],
  CHF: ["Swiss franc", "Swiss francs"], AUD: ["Australian dollar", "Australian dollars"], CNY: ["Chinese yuan", "Chinese yuan"],
};
const NO_CENTS = ["JPY", "KRW", "VND", "CLP", "ISK", "XAF", "XOF", "PYG", "UGX", "RWF"];
const MILLS = ["BHD", "KWD", "OMR", "JOD", "TND", "IQD", "LYD"];
const COMPACT = [[12, "T", "trillion"], [9, "B", "billion"], [6, "M", "million"], [3, "K", "thousand"]];
const UNITS = {
  percent: ["%", "%", "percent"], byte: [" byte", "B", "byte"], kilobyte: [" kB", "kB", "kilobyte"],
  megabyte: [" MB", "MB", "megabyte"], gigabyte: [" GB", "GB", "gigabyte"], terabyte: [" TB", "TB", "terabyte"],
  millisecond: [" ms", "ms", "millisecond"], second: [" sec", "s", "second"], minute: [" min", "m", "minute"],
  hour: [" hr", "h", "hour"], day: [" day", "d", "day"], week: [" wk", "w", "week"], month: [" mth", "m", "month"],
  year: [" yr", "y", "year"], meter: [" m", "m", "meter"], kilometer: [" km", "km", "kilometer"],
  centimeter: [" cm", "cm", "centimeter"], mile: [" mi", "mi", "mile"], foot: [" ft", "′", "foot"],
  gram: [" g", "g", "gram"], kilogram: [" kg", "kg", "kilogram"], pound: [" lb", "#", "pound"],
  liter: [" L", "L", "liter"], celsius: ["°C", "°C", "degree Celsius"], fahrenheit: ["°F", "°", "degree Fahrenheit"],
};
const PLURAL_SHORT = { day: " days", week: " wks", month: " mths", year: " yrs", byte: " byte" };

// The digits of a finite number that is not negative, and where its point stands, as it prints shortest.
function digitsOf(value) {
  const [mantissa, power = "0"] = String(value).split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  const all = (whole + fraction).replace(/^0+(?=.)/, "");
  return { digits: all, point: all === "0" ? 1 : whole.replace(/^0+/, "").length + Number(power) - (whole.replace(/^0+/, "") ? 0 : fraction.length - fraction.replace(/^0+/, "").length) };
}

// Half away from zero, counted on the digits that are printed: 1.005 is 1.01.
function roundedAt({ digits, point }, keep) {
  if (keep >= digits.length) return { digits, point };
  if (keep < 0) return { digits: "0", point: 1 };
  let kept = digits.slice(0, keep);
  if (digits[keep] >= "5") {
    const up = (BigInt(kept || "0") + 1n).toString().padStart(keep, "0");
    if (up.length > keep) return { digits: up, point: point + 1 };
    kept = up;
  }
  return kept === "" ? { digits: "0", point: 1 } : { digits: kept, point };
}

function plain({ digits, point }) {
  if (point <= 0) return ["0", "0".repeat(-point) + digits];
  return [digits.slice(0, point).padEnd(point, "0"), digits.slice(point)];
}

function rounded(value, o) {
  const number = digitsOf(value);
  if (o.maximumSignificantDigits) {
    let [whole, fraction] = plain(roundedAt(number, o.maximumSignificantDigits));
    fraction = fraction.replace(/0+$/, "");
    const shown = (whole === "0" ? "" : whole).length + (whole === "0" ? fraction.replace(/^0+/, "").length : fraction.length);
    return [whole, fraction + "0".repeat(Math.max(0, (o.minimumSignificantDigits ?? 1) - Math.max(shown, whole === "0" && !fraction ? 1 : 0)))];
  }
  const [whole, fraction] = plain(roundedAt(number, number.point + o.maximumFractionDigits));
  return [whole, fraction.replace(/0+$/, "").padEnd(o.minimumFractionDigits, "0")];
}

const isZero = (text) => /^0*$/.test(text);

export class NumberFormat {
  #o;
  #bound;

  constructor(locales, options = {}) {
    const style = chosen(options, "style", ["decimal", "percent", "currency", "unit"], "decimal");
    const currency = options.currency === undefined ? undefined : String(options.currency).toUpperCase();
    if (style === "currency" && currency === undefined) throw new TypeError("Currency code is required with currency style.");
    if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${options.currency}`);
    if (style === "unit" && !parts(options.unit).every((one) => UNITS[one])) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${options.unit}'`);
    const notation = chosen(options, "notation", ["standard", "compact", "scientific", "engineering"], "standard");
    const cents = NO_CENTS.includes(currency) ? 0 : MILLS.includes(currency) ? 3 : 2;
    const fewest = style === "currency" && notation === "standard" ? cents : 0;
    const most = style === "currency" && notation === "standard" ? cents : style === "percent" || notation === "compact" ? 0 : 3;
    this.#o = {
      locale: localeOf(locales), style, currency, notation, unit: options.unit, numberingSystem: "latn",
      currencyDisplay: chosen(options, "currencyDisplay", ["symbol", "narrowSymbol", "code", "name"], "symbol"),
      currencySign: chosen(options, "currencySign", ["standard", "accounting"], "standard"),
      unitDisplay: chosen(options, "unitDisplay", ["short", "narrow", "long"], "short"),
      compactDisplay: chosen(options, "compactDisplay", ["short", "long"], "short"),
      signDisplay: chosen(options, "signDisplay", ["auto", "never", "always", "exceptZero", "negative"], "auto"),
      useGrouping: options.useGrouping ?? (notation === "compact" ? "min2" : "auto"),
      minimumIntegerDigits: within(options, "minimumIntegerDigits", 1, 21) ?? 1,
      ...fractions(options, fewest, most),
      ...significants(options),
      isRounded: ["maximumFractionDigits", "minimumFractionDigits"].some((name) => options[name] !== undefined),
    };
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get format() {
    return (this.#bound ??= (value) => this.formatToParts(value).map((part) => part.value).join(""));
  }

  formatToParts(given) {
    const o = this.#o;
    const value = typeof given === "bigint" ? given : Number(given);
    const isNegative = value < 0 || Object.is(value, -0);
    let made = this.#magnitude(isNegative ? -value : value);
    const nothing = made.every((part) => !["integer", "fraction"].includes(part.type) || isZero(part.value)) && !made.some((part) => ["infinity", "nan"].includes(part.type));
    made = this.#clothed(made);
    const sign = signFor(o.signDisplay, isNegative, nothing, value);
    if (sign === "-" && o.style === "currency" && o.currencySign === "accounting") {
      return [{ type: "literal", value: "(" }, ...made, { type: "literal", value: ")" }];
    }
    return sign ? [{ type: sign === "-" ? "minusSign" : "plusSign", value: sign }, ...made] : made;
  }

  resolvedOptions() {
    const { isRounded, ...shown } = this.#o;
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  }

  #magnitude(value) {
    const o = this.#o;
    if (Number.isNaN(value)) return [{ type: "nan", value: "NaN" }];
    if (value === Infinity) return [{ type: "infinity", value: "∞" }];
    const scaled = o.style === "percent" ? timesHundred(value) : value;
    if (o.notation === "compact") return this.#compact(Number(scaled));
    if (o.notation !== "standard") return this.#scientific(Number(scaled));
    return this.#grouped(...rounded(scaled, o));
  }

  #grouped(whole, fraction) {
    const o = this.#o;
    whole = whole.padStart(o.minimumIntegerDigits, "0");
    const made = [];
    const grouping = o.useGrouping !== false && o.useGrouping !== "false" && whole.length > (o.useGrouping === "min2" ? 4 : 3);
    const groups = grouping ? whole.replace(/\B(?=(\d{3})+$)/g, ",").split(",") : [whole];
    groups.forEach((value, i) => {
      if (i) made.push({ type: "group", value: "," });
      made.push({ type: "integer", value });
    });
    if (fraction) made.push({ type: "decimal", value: "." }, { type: "fraction", value: fraction });
    return made;
  }

  #compact(value) {
    const o = this.#o;
    let place = COMPACT.findIndex(([power]) => value >= 10 ** power);
    if (place < 0) place = COMPACT.length;
    const at = (step) => this.#compactDigits(step < COMPACT.length ? value / 10 ** COMPACT[step][0] : value);
    // What is rounded up to a thousand is one of the next size.
    if (place > 0 && at(place)[0].length > 3) place -= 1;
    const made = this.#grouped(...at(place));
    if (place === COMPACT.length) return made;
    const [, short, long] = COMPACT[place];
    if (o.compactDisplay === "short") return [...made, { type: "compact", value: short }];
    return [...made, { type: "literal", value: " " }, { type: "compact", value: long }];
  }

  #compactDigits(value) {
    const o = this.#o;
    if (o.isRounded || o.maximumSignificantDigits) return rounded(value, o);
    // Two digits, or all of the whole part.
    if (value >= 10) return rounded(value, { maximumFractionDigits: 0, minimumFractionDigits: 0 });
    return rounded(value, { maximumSignificantDigits: 2 });
  }

  #scientific(value) {
    const o = this.#o;
    let power = value === 0 ? 0 : digitsOf(value).point - 1;
    if (o.notation === "engineering") power = Math.floor(power / 3) * 3;
    const most = o.notation === "engineering" ? 3 : 1;
    const at = (step) => rounded(Number(`${value}e${-step}`) || value / 10 ** step, o);
    if (at(power)[0].length > most) power += most;
    return [...this.#grouped(...at(power)), { type: "exponentSeparator", value: "E" }, ...(power < 0 ? [{ type: "exponentMinusSign", value: "-" }] : []), { type: "exponentInteger", value: String(Math.abs(power)) }];
  }

  #clothed(made) {
    const o = this.#o;
    if (o.style === "percent") return [...made, { type: "percentSign", value: "%" }];
    if (o.style === "unit") return [...made, ...unitText(o, textOf(made) === "1").map((value) => ({ type: "unit", value }))];
    if (o.style !== "currency") return made;
    const { currency } = o;
    if (o.currencyDisplay === "name") {
      const [one, many] = NAMES[currency] ?? [currency, currency];
      return [...made, { type: "literal", value: " " }, { type: "currency", value: textOf(made) === "1" ? one : many }];
    }
    const symbol = o.currencyDisplay === "code" ? currency : (o.currencyDisplay === "narrowSymbol" && NARROW[currency]) || SYMBOLS[currency] || currency;
    const gap = /[A-Za-z]$/.test(symbol) ? [{ type: "literal", value: "\u00a0" }] : [];
    return [{ type: "currency", value: symbol }, ...gap, ...made];
  }
}

const textOf = (made) => made.map((part) => part.value).join("");
const parts = (unit) => String(unit ?? "").split("-per-");

function timesHundred(value) {
  if (typeof value === "bigint") return value * 100n;
  return Number(`${value}e2`) || value * 100;
}

function signFor(display, isNegative, nothing, value) {
  if (display === "never") return "";
  if (display === "always") return isNegative ? "-" : "+";
  if (display === "exceptZero") return nothing || Number.isNaN(value) ? "" : isNegative ? "-" : "+";
  if (display === "negative" && nothing) return "";
  return isNegative && !Number.isNaN(value) ? "-" : "";
}

function unitText(o, isOne) {
  const [first, second] = parts(o.unit);
  const [short, narrow, long] = UNITS[first];
  if (o.unitDisplay === "long") {
    const name = first === "foot" && !isOne ? "feet" : first.endsWith("heit") || first === "celsius" ? long.replace("degree", isOne ? "degree" : "degrees") : isOne || first === "percent" ? long : `${long}s`;
    return [` ${name}${second ? ` per ${second}` : ""}`];
  }
  const shown = o.unitDisplay === "narrow" ? narrow : isOne ? short : PLURAL_SHORT[first] ?? short;
  return [second ? `${shown}/${UNITS[second][1]}` : shown];
}

function within(options, name, least, most) {
  if (options[name] === undefined) return undefined;
  const value = Math.floor(Number(options[name]));
  if (!(value >= least && value <= most)) throw new RangeError(`${name} value is out of range.`);
  return value;
}

function fractions(options, fewest, most) {
  let low = within(options, "minimumFractionDigits", 0, 100);
  let high = within(options, "maximumFractionDigits", 0, 100);
  if (low === undefined) low = high === undefined ? fewest : Math.min(fewest, high);
  if (high === undefined) high = Math.max(most, low);
  if (low > high) throw new RangeError("maximumFractionDigits value is out of range.");
  return { minimumFractionDigits: low, maximumFractionDigits: high };
}

function significants(options) {
  const low = within(options, "minimumSignificantDigits", 1, 21);
  const high = within(options, "maximumSignificantDigits", low ?? 1, 21);
  if (low === undefined && high === undefined) return {};
  return { minimumSignificantDigits: low ?? 1, maximumSignificantDigits: high ?? 21 };
}

export class PluralRules {
  #type;
  #locale;

  constructor(locales, options = {}) {
    this.#locale = localeOf(locales);
    this.#type = chosen(options, "type", ["cardinal", "ordinal"], "cardinal");
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  select(value) {
    const number = Number(value);
    if (this.#type === "cardinal") return number === 1 ? "one" : "other";
    const last = number % 10, teens = number % 100;
    if (last === 1 && teens !== 11) return "one";
    if (last === 2 && teens !== 12) return "two";
    return last === 3 && teens !== 13 ? "few" : "other";
  }

  resolvedOptions() {
    const pluralCategories = this.#type === "cardinal" ? ["one", "other"] : ["few", "one", "two", "other"];
    return { locale: this.#locale, type: this.#type, pluralCategories };
  }
}

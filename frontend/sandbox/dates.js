// Intl.DateTimeFormat for English, with ISO dates for the locales that people ask for to get them (sv-SE,
// en-CA). Calendars, eras and day periods are absent. A script's own time zone is UTC.

import { chosen, localeOf, supportedLocalesOf } from "./locales.js";
import { at, zoneOf } from "./zones.js";

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const DATE = ["weekday", "year", "month", "day"];
const TIME = ["hour", "minute", "second", "fractionalSecondDigits"];
const ISO = ["en-CA", "sv-SE"];
const STYLES = {
  date: {
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
  },
  time: {
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
    long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
    short: { hour: "numeric", minute: "2-digit" },
  },
};
const two = (value) => String(value).padStart(2, "0");

export class DateTimeFormat {
  #o;
  #zone;
  #bound;

  constructor(locales, options = {}, needed = "any", defaults = "date") {
    const locale = localeOf(locales, ISO);
    this.#zone = zoneOf(options.timeZone ?? "UTC");
    const o = { locale, calendar: "gregory", numberingSystem: "latn", timeZone: this.#zone.name };
    for (const name of [...DATE, ...TIME, "timeZoneName"]) if (options[name] !== undefined) o[name] = options[name];
    chosen(o, "weekday", ["long", "short", "narrow"]);
    chosen(o, "month", ["numeric", "2-digit", "long", "short", "narrow"]);
    for (const name of ["year", "day", "hour", "minute", "second"]) chosen(o, name, ["numeric", "2-digit"]);
    const dateStyle = chosen(options, "dateStyle", ["full", "long", "medium", "short"]);
    const timeStyle = chosen(options, "timeStyle", ["full", "long", "medium", "short"]);
    const isGiven = [...DATE, ...TIME].some((name) => o[name] !== undefined);
    if ((dateStyle || timeStyle) && isGiven) throw new TypeError("dateStyle and timeStyle cannot be used with other date or time options.");
    if (dateStyle || timeStyle) Object.assign(o, STYLES.date[dateStyle], STYLES.time[timeStyle], { dateStyle, timeStyle });
    if (dateStyle === "short" && locale !== "en-US" && locale !== "en") o.year = "numeric";
    if (!dateStyle && !timeStyle && lacks(o, needed)) {
      if (defaults !== "time") Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
      if (defaults !== "date") Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    }
    const cycle = options.hour12 === undefined ? options.hourCycle : options.hour12 ? "h12" : "h23";
    if (o.hour !== undefined) o.hourCycle = chosen({ cycle }, "cycle", ["h11", "h12", "h23", "h24"], ["en-GB", "sv-SE"].includes(locale) ? "h23" : "h12");
    this.#o = o;
  }

  static supportedLocalesOf(locales) {
    return supportedLocalesOf(locales);
  }

  get format() {
    return (this.#bound ??= (date) => this.formatToParts(date).map((part) => part.value).join(""));
  }

  formatToParts(date) {
    const instant = date === undefined ? Date.now() : Number(date);
    if (!(Math.abs(instant) <= 8.64e15)) throw new RangeError("Invalid time value");
    const span = at(this.#zone, instant);
    const local = new Date(instant + span.minutes * 60000);
    const o = this.#o;
    const day = this.#date(local), time = this.#time(local, span);
    if (!day.length || !time.length) return [...day, ...time];
    const isoGap = ISO.includes(o.locale) && o.locale === "sv-SE";
    const joined = ["full", "long"].includes(o.dateStyle) ? " at " : isoGap ? " " : ", ";
    return [...day, { type: "literal", value: joined }, ...time];
  }

  formatRange(from, to) {
    const [a, b] = [this.format(from), this.format(to)];
    return a === b ? a : `${a} – ${b}`;
  }

  resolvedOptions() {
    const { hourCycle, ...rest } = this.#o;
    const shown = hourCycle ? { ...rest, hourCycle, hour12: hourCycle < "h2" } : rest;
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
  }

  #date(local) {
    const o = this.#o;
    const year = o.year && { type: "year", value: o.year === "2-digit" ? two(local.getUTCFullYear() % 100) : String(local.getUTCFullYear()) };
    const weekday = o.weekday && { type: "weekday", value: named(DAYS[local.getUTCDay()], o.weekday) };
    const isNamed = ["long", "short", "narrow"].includes(o.month);
    const month = o.month && { type: "month", value: isNamed ? named(MONTHS[local.getUTCMonth()], o.month) : o.month === "2-digit" || this.#isPadded() ? two(local.getUTCMonth() + 1) : String(local.getUTCMonth() + 1) };
    const day = o.day && { type: "day", value: o.day === "2-digit" || (!isNamed && this.#isPadded()) ? two(local.getUTCDate()) : String(local.getUTCDate()) };
    const british = o.locale === "en-GB";
    if (isNamed && british) {
      return joinedBy(o.year ? ", " : " ", [[weekday], joinedBy(" ", [[day], [month], [year]])]);
    }
    if (isNamed) {
      const monthDay = joinedBy(" ", [[month], [day]]);
      return joinedBy(", ", [[weekday], day ? monthDay : joinedBy(" ", [monthDay, [year]]), day ? [year] : []]);
    }
    const order = ISO.includes(o.locale) ? [[year], [month], [day]] : british ? [[day], [month], [year]] : [[month], [day], [year]];
    return joinedBy(", ", [[weekday], joinedBy(ISO.includes(o.locale) ? "-" : "/", order)]);
  }

  #isPadded() {
    const o = this.#o;
    return (ISO.includes(o.locale) || o.locale === "en-GB") && Boolean(o.month && o.day && o.year);
  }

  #time(local, span) {
    const o = this.#o;
    const hours = local.getUTCHours();
    const isTwelve = o.hourCycle === "h12" || o.hourCycle === "h11";
    const shown = o.hourCycle === "h12" ? hours % 12 || 12 : o.hourCycle === "h11" ? hours % 12 : o.hourCycle === "h24" ? hours || 24 : hours;
    const parts = [
      o.hour && [{ type: "hour", value: o.hour === "2-digit" || !isTwelve ? two(shown) : String(shown) }],
      o.minute && [{ type: "minute", value: o.hour || o.second || o.minute === "2-digit" ? (o.hour || o.second ? two(local.getUTCMinutes()) : String(local.getUTCMinutes())) : String(local.getUTCMinutes()) }],
      o.second && [{ type: "second", value: o.minute ? two(local.getUTCSeconds()) : String(local.getUTCSeconds()) }],
    ];
    const made = joinedBy(":", parts);
    if (o.fractionalSecondDigits) {
      const digits = String(local.getUTCMilliseconds()).padStart(3, "0").slice(0, o.fractionalSecondDigits);
      if (made.length) made.push({ type: "literal", value: "." });
      made.push({ type: "fractionalSecond", value: digits });
    }
    if (o.hour && isTwelve) made.push({ type: "literal", value: " " }, { type: "dayPeriod", value: hours < 12 ? "AM" : "PM" });
    if (o.timeZoneName) {
      if (made.length) made.push({ type: "literal", value: " " });
      made.push({ type: "timeZoneName", value: zoneText(this.#zone, span, o.timeZoneName) });
    }
    return made;
  }
}

function lacks(o, needed) {
  const names = needed === "date" ? DATE : needed === "time" ? TIME : [...DATE, ...TIME];
  return names.every((name) => o[name] === undefined);
}

const named = (name, width) => (width === "long" ? name : width === "short" ? name.slice(0, 3) : name[0]);

function joinedBy(text, groups) {
  const made = [];
  for (const group of groups) {
    const parts = (group || []).filter(Boolean);
    if (!parts.length) continue;
    if (made.length) made.push({ type: "literal", value: text });
    made.push(...parts);
  }
  return made;
}

// As people write them in America; elsewhere the same letters mean different zones.
const AMERICAN = /^(?:[ECMP][SD]T|AK[SD]T|HST)$/;

function zoneText(zone, span, width) {
  if (zone.name === "UTC") return width === "long" ? "Coordinated Universal Time" : "UTC";
  const isAmerican = /^(?:America|US|Pacific\/Honolulu)/.test(zone.name);
  if (isAmerican && AMERICAN.test(span.short) && !width.endsWith("Offset")) return span.short;
  const minutes = Math.abs(span.minutes);
  if (!minutes) return "GMT";
  const rest = minutes % 60;
  return `GMT${span.minutes < 0 ? "-" : "+"}${Math.floor(minutes / 60)}${rest ? `:${two(rest)}` : ""}`;
}

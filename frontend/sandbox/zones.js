// Time zones: in goes a name and an instant, out comes the offset in minutes and its short name. The table is
// the public time zone database as moment-timezone packs it, unpacked one zone at a time when it is asked for.

import { links, zones } from "moment-timezone/data/packed/latest.json";

// By small letters: the zone's own line, or the line of the zone that it is another name of.
const packed = new Map(zones.map((text) => [text.slice(0, text.indexOf("|")).toLowerCase(), text]));
const others = new Map();
for (const pair of links) {
  const [from, to] = pair.split("|");
  others.set(to.toLowerCase(), [to, from.toLowerCase()]);
}
const unpacked = new Map();

function base60(text) {
  const negative = text[0] === "-";
  const [whole, fraction = ""] = (negative ? text.slice(1) : text).split(".");
  const digit = (letter) => {
    const code = letter.charCodeAt(0);
    return code > 96 ? code - 87 : code > 64 ? code - 29 : code - 48;
  };
  let value = 0;
  for (const letter of whole) value = value * 60 + digit(letter);
  let unit = 1;
  for (const letter of fraction) value += digit(letter) * (unit /= 60);
  return negative ? -value : value;
}

function unpack(text, otherName) {
  const [ownName, names, offsets, places, diffs] = text.split("|");
  const minutes = offsets.split(" ").map(base60);
  const short = names.split(" ");
  let until = 0;
  const untils = diffs ? diffs.split(" ").map((diff) => (until += base60(diff)) * 60000) : [];
  return { name: otherName || ownName, untils, spans: [...places].map(base60).map((place) => ({ minutes: -minutes[place], short: short[place] })) };
}

function fixed(name) {
  const found = /^([+-])(\d{2}):?(\d{2})?$/.exec(name);
  if (!found) return undefined;
  const minutes = (Number(found[2]) * 60 + Number(found[3] ?? 0)) * (found[1] === "-" ? -1 : 1);
  return { name: `${found[1]}${found[2]}:${found[3] ?? "00"}`, untils: [], spans: [{ minutes, short: `GMT${found[1]}${Number(found[2])}${found[3] > "00" ? `:${found[3]}` : ""}` }] };
}

export function zoneOf(given) {
  const key = String(given).toLowerCase();
  if (["utc", "gmt", "etc/utc", "etc/gmt"].includes(key)) return { name: "UTC", untils: [], spans: [{ minutes: 0, short: "UTC" }] };
  if (!unpacked.has(key)) {
    const [name, of] = others.get(key) ?? ["", key];
    const zone = packed.has(of) ? unpack(packed.get(of), name) : fixed(key);
    if (!zone) throw new RangeError(`Invalid time zone specified: ${given}`);
    unpacked.set(key, zone);
  }
  return unpacked.get(key);
}

export function at(zone, instant) {
  const place = zone.untils.findIndex((until) => instant < until);
  return zone.spans[place < 0 ? zone.spans.length - 1 : place];
}

// How values of a script leave it. Comes in: nothing. Goes out: `written` (JSON text), `shown` (one value of
// a log line), `described` (name, message and stack of what was thrown) and `refuse` (a new error).
// Maps, sets, big integers and errors are given a JSON form, which the language has left empty.
(() => {
  "use strict";
  const { stringify } = JSON;
  const { apply, defineProperty, ownKeys, getPrototypeOf } = Reflect;
  const { isArray, from } = Array;
  const Fault = Error, Text = String, isError = Error.isError;
  const { includes } = String.prototype;
  const { forEach: eachOfMap } = Map.prototype, { forEach: eachOfSet } = Set.prototype;
  const { propertyIsEnumerable } = Object.prototype;
  const IDENTIFIER = /^[A-Za-z_$][\w$]*$/, { test } = RegExp.prototype, { toString: regexText } = RegExp.prototype;
  const DEEPEST = 900, MOST_STEPS = 200_000, MANY = 200;
  const refuse = (name, message) => { const e = new Fault(message); e.name = name; return e; };

  // A form is a new object each time, so that the language does not see a circle through it and would not
  // stop; after so many of them the value is looked at.
  let formed = 0, most = Infinity;
  const count = () => { if (++formed > most) throw refuse("RangeError", "too many"); };

  const forms = [
    [Map, function () {
      count();
      const pairs = [];
      let named = true;
      apply(eachOfMap, this, [(value, key) => {
        if (typeof key !== "string" && typeof key !== "number") named = false;
        pairs[pairs.length] = [key, value];
      }]);
      if (!named) return pairs;
      const made = {};
      for (let i = 0; i < pairs.length; i++) {
        defineProperty(made, pairs[i][0], { value: pairs[i][1], enumerable: true, configurable: true, writable: true });
      }
      return made;
    }],
    [Set, function () {
      count();
      const made = [];
      apply(eachOfSet, this, [(value) => { made[made.length] = value; }]);
      return made;
    }],
    [BigInt, function () { return Text(this); }],
    [Error, function () {
      count();
      return { name: this.name, message: this.message, ...this };
    }],
    [RegExp, function () { return apply(regexText, this, []); }],
    [getPrototypeOf(Uint8Array), function () { return from(this); }],
  ];
  for (const [owner, value] of forms) {
    defineProperty(owner.prototype, "toJSON", { value, writable: true, configurable: true });
  }

  // Where a value cannot be written: looked for only after it could not.
  const trouble = (root, name) => {
    const above = [], places = [];
    let steps = 0;
    const step = (place, key) => {
      if (typeof key === "number") return `${place}[${key}]`;
      return apply(test, IDENTIFIER, [key]) ? `${place}.${key}` : `${place}[${stringify(key)}]`;
    };
    const look = (value, place, depth) => {
      if (++steps > MOST_STEPS) return `${name} is too large`;
      if (depth > DEEPEST) return `${name} is nested more than ${DEEPEST} levels deep`;
      let inner = value;
      if (typeof value === "object" && value !== null) {
        for (let i = 0; i < above.length; i++) {
          if (above[i] === value) return `${place} is a circular reference to ${places[i]}`;
        }
        try {
          if (typeof value.toJSON === "function") inner = value.toJSON("");
        } catch (error) { return `${place}: ${shown(error?.message ?? error)}`; }
      }
      if (typeof inner !== "object" || inner === null) return "";
      above[depth] = value;
      places[depth] = place;
      const keys = isArray(inner) ? null : ownKeys(inner);
      const count = keys ? keys.length : inner.length;
      for (let i = 0; i < count; i++) {
        const key = keys ? keys[i] : i;
        if (typeof key === "symbol" || (keys && !apply(propertyIsEnumerable, inner, [key]))) continue;
        const at = step(place, key);
        let next;
        try { next = inner[key]; } catch (error) { return `${at} threw ${shown(error?.message ?? error)}`; }
        const found = look(next, at, depth + 1);
        if (found) return found;
      }
      above.length = depth;
      return "";
    };
    try { return look(root, name, 0); } catch (error) { return `${name}: ${shown(error?.message ?? error)}`; }
  };

  const attempt = (value, limit) => {
    formed = 0;
    most = limit;
    try { return stringify(value) ?? "null"; } finally { most = Infinity; }
  };

  const written = (value, name) => {
    try {
      return attempt(value, MANY);
    } catch (error) {
      if (error?.name === "InternalError" && error.message === "out of memory") throw error;
      const wereMany = formed > MANY;
      const found = trouble(value, name);
      if (wereMany && !found) return attempt(value, Infinity);
      const told = `The ${name} cannot be written as JSON: ${found || shown(error?.message ?? error)}.`;
      throw refuse(Text(error?.name ?? "TypeError"), told);
    }
  };

  const shown = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null && !isError(value)) {
      try { return stringify(value) ?? Text(value); } catch { /* falls through to its text */ }
    }
    if (typeof value === "bigint") return `${value}n`;
    try { return Text(value); } catch { return "[unprintable]"; }
  };

  const described = (error, otherwise) => {
    try {
      if (isError(error) || (typeof error === "object" && error !== null && "message" in error)) {
        let stack = Text(error.stack ?? "");
        // An SDK may throw an error of its own after an answer; the line is where the call was made.
        if (!apply(includes, stack, ["script.ts:"])) stack = otherwise;
        return stringify([Text(error.name ?? "Error"), Text(error.message), stack]);
      }
      return stringify(["Thrown", shown(error), ""]);
    } catch { return '["Error","The script threw something that cannot be shown.",""]'; }
  };

  return { written, shown, described, refuse };
})()

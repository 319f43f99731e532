// Comes in: how values are written (`values.js`), then the value of the SDK's source, which is a function
// from `call` to the client, and options as JSON. Goes out: the doors that the drivers use. Every script's
// realm starts as this leaves it.
// Nothing here guards the host: whatever a script does to this realm, the host checks what it reads.
(values) => {
  "use strict";
  const { written, shown, described, refuse } = values;
  const { parse, stringify } = JSON;
  const { apply, defineProperty } = Reflect;
  const { isArray } = Array;
  const { min, max } = Math;
  const Fault = Error, Text = String, Num = Number, Later = Promise;
  const { then } = Promise.prototype, { join } = Array.prototype, { slice } = String.prototype;
  const resolved = Later.resolve.bind(Later);
  const table = () => {
    const map = new Map(), { get, set, delete: remove, forEach } = Map.prototype;
    return {
      each: (action) => apply(forEach, map, [action]),
      get: (key) => apply(get, map, [key]),
      set: (key, value) => apply(set, map, [key, value]),
      remove: (key) => apply(remove, map, [key]),
    };
  };
  const CALL = 0, LOG = 1, TIMER = 2, DONE = 3, FAIL = 4, REJECTED = 5;
  const MOST_REJECTED = 5;

  return (sdk, optionsText) => {
    const options = parse(optionsText);
    let outbox = [], next = 1, calls = 0, timersMade = 0, logged = 0, lastCallStack = "";
    const send = (text) => { outbox[outbox.length] = text; };
    const quoted = (value) => stringify(Text(value));

    const pending = table();
    const call = (operation, argument) => new Later((resolve, reject) => {
      if (++calls > options.calls) throw refuse("LimitError", `A script may make ${options.calls} calls.`);
      const text = written(argument === undefined ? null : argument, "arguments");
      const id = next++;
      pending.set(id, { resolve, reject, stack: new Fault().stack });
      send(`[${CALL},${id},${quoted(operation)},${text}]`);
    });

    const log = (level) => (...values) => {
      if (logged > options.logChars) return;
      let text = "";
      for (let i = 0; i < values.length; i++) text += (i ? " " : "") + shown(values[i]);
      text = apply(slice, text, [0, max(0, options.logChars - logged) + 1]);
      logged += text.length + 1;
      send(`[${LOG},${quoted(level)},${quoted(text)}]`);
    };
    const console = {};
    for (const level of ["log", "info", "debug", "warn", "error"]) console[level] = log(level);
    for (const level of ["trace", "dir", "table", "group", "groupCollapsed"]) console[level] = console.log;
    for (const level of ["groupEnd", "time", "timeEnd", "timeLog", "count"]) console[level] = () => {};
    console.assert = (held, ...values) => { if (!held) console.error("Assertion failed:", ...values); };

    const timers = table();
    const arm = (id, delay) => {
      if (++timersMade > options.timers) throw refuse("LimitError", `A script may set ${options.timers} timers.`);
      send(`[${TIMER},${id},${min(max(Num(delay) || 0, 0), 86400000)}]`);
    };
    const later = (again) => (action, delay, ...rest) => {
      if (typeof action !== "function") throw new TypeError("A timer needs a function.");
      const id = next++;
      timers.set(id, () => {
        if (again) arm(id, delay); else timers.remove(id);
        action(...rest);
      });
      arm(id, delay);
      return id;
    };
    const clear = (id) => { timers.remove(id); };

    // Promises that were rejected while nobody waited for them, as long as nobody does.
    const rejected = table();
    let rejectedChanged = false;
    const tellRejected = () => {
      rejectedChanged = false;
      const told = [];
      rejected.each((reason) => {
        if (told.length < MOST_REJECTED) told[told.length] = described(reason, "");
      });
      send(`[${REJECTED},[${apply(join, told, [","])}]]`);
    };

    const fail = (error) => {
      if (rejectedChanged) tellRejected();
      send(`[${FAIL},${described(error, lastCallStack)}]`);
    };
    const done = (value, implicit) => {
      let text;
      try {
        text = written(value, "result");
      } catch (error) {
        if (!implicit) return fail(error);
        text = "null";
      }
      if (rejectedChanged) tellRejected();
      send(`[${DONE},${text}]`);
    };

    const client = sdk(call);
    const { now } = Date;
    let origin = 0;
    const performance = { now: () => now() - origin, get timeOrigin() { return origin; } };
    const surface = { console, performance, setTimeout: later(false), setInterval: later(true) };
    surface.clearTimeout = surface.clearInterval = clear;
    surface.queueMicrotask = (action) => { apply(then, apply(then, resolved(), [() => action()]), [undefined, fail]); };
    for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly", "__core-js_shared__", "gc"]) delete globalThis[name];
    for (const name in surface) {
      defineProperty(globalThis, name, { value: surface[name], writable: true, configurable: true });
    }
    defineProperty(globalThis, options.clientName, { value: client, enumerable: true });

    const settle = ([id, kind, value]) => {
      if (kind === 2) return timers.get(id)?.();
      const waiting = pending.get(id);
      if (!waiting) return undefined;
      pending.remove(id);
      lastCallStack = waiting.stack;
      if (kind === 0) return waiting.resolve(value);
      const error = new Fault(value.message);
      for (const key in value) if (key !== "message") error[key] = value[key];
      defineProperty(error, "stack", { value: waiting.stack, writable: true, configurable: true });
      return waiting.reject(error);
    };
    return {
      fail,
      start: (script) => {
        origin = now();
        // In an array: its result is the value of the last expression, which nobody asked to have called.
        const implicit = isArray(script);
        const run = implicit ? script[0] : script;
        const called = (value) => typeof value === "function" && !implicit ? value(client) : value;
        const result = apply(then, resolved(), [() => run()]);
        apply(then, apply(then, result, [called]), [(value) => done(value, implicit), fail]);
      },
      receive: (text) => {
        const events = parse(text);
        for (let i = 0; i < events.length; i++) {
          try { settle(events[i]); } catch (error) { fail(error); }
        }
      },
      // Called by the engine: with a reason when nobody waits for a promise that fails, without once somebody does.
      reject: (...given) => {
        rejectedChanged = true;
        if (given.length > 1) rejected.set(given[0], given[1]); else rejected.remove(given[0]);
      },
      drain: () => {
        if (rejectedChanged) tellRejected();
        const text = `[${apply(join, outbox, [","])}]`;
        outbox = [];
        return text;
      },
    };
  };
}

// The client that scripts use. In comes the host's `call(operationId, args)`, which promises
// {body, next} or {fault}, and a table of operations; out goes the client. The host does everything else:
// it checks arguments, builds the request, adds credentials. Nothing here is trusted by it.
(function (call, table) {
  "use strict";
  const { freeze, create, hasOwn } = Object;

  class ApiError extends Error {
    constructor(fault) {
      super(fault.message);
      this.name = fault.name || "ApiError";
      this.status = fault.status ?? 0;
      this.code = fault.code ?? null;
      this.body = fault.body ?? null;
      this.requestId = fault.requestId ?? null;
    }
  }

  async function send(id, args) {
    const answer = await call(id, args);
    if (answer.fault) throw new ApiError(answer.fault);
    return answer;
  }

  // A step into an array is a place, counted from the end if negative.
  const inside = (value, step) => {
    if (Array.isArray(value)) return value.at(Number(step));
    return value !== null && typeof value === "object" && hasOwn(value, step) ? value[step] : undefined;
  };
  const at = (value, path) => path.reduce(inside, value);

  const decoded = (text) => {
    try {
      return decodeURIComponent(text.replace(/\+/g, " "));
    } catch {
      return text;
    }
  };

  // A cursor may come as a link to the next page: then the parameter is read out of it.
  function cursorOf(value, name) {
    if (typeof value !== "string" || !/^(https?:\/\/|\/|\?)/.test(value)) return value;
    const query = (value.split("#")[0].split("?")[1] || "").split("&");
    const found = query.map((pair) => pair.split("=")).find(([key]) => decoded(key) === name);
    return found ? decoded(found.slice(1).join("=")) : /^(https?:|\?)/.test(value) ? undefined : value;
  }

  const nothing = (value) => value === undefined || value === null || value === "";

  // The arguments for the next page; null after the last. `most`: the most rows that a page had so far.
  function following(how, args, answer, rows, most) {
    if (how.more.length && !at(answer.body, how.more)) return null;
    if (how.kind === "link") return answer.next ? { ...args, ...answer.next } : null;
    if (how.kind === "cursor") {
      const cursor = cursorOf(at(answer.body, how.next), how.name);
      return nothing(cursor) || cursor === args[how.arg] ? null : { ...args, [how.arg]: cursor };
    }
    // Fewer rows than were asked for may only mean that the API gives no more at once; fewer than on an
    // earlier page is the end.
    if (rows.length === 0 || rows.length < most) return null;
    const step = how.kind === "page" ? 1 : rows.length;
    return { ...args, [how.arg]: Number(args[how.arg] ?? how.first) + step };
  }

  // Sent once it is awaited or iterated: a promise of the first answer that also gives every row.
  class Paged {
    #id; #args; #how; #first;
    constructor(id, args, how) {
      this.#id = id;
      this.#args = args;
      this.#how = how;
    }
    #answer() {
      this.#first ??= send(this.#id, this.#args);
      return this.#first;
    }
    then(onValue, onError) {
      return this.#answer().then((answer) => answer.body).then(onValue, onError);
    }
    catch(onError) {
      return this.then(undefined, onError);
    }
    finally(onEnd) {
      return this.then().finally(onEnd);
    }
    async *[Symbol.asyncIterator]() {
      let args = this.#args;
      let answer = await this.#answer();
      let most = 0;
      for (;;) {
        const rows = at(answer.body, this.#how.items);
        if (!Array.isArray(rows)) return;
        yield* rows;
        args = following(this.#how, args, answer, rows, most);
        if (args === null) return;
        most = Math.max(most, rows.length);
        answer = await this.#page(args);
        if (answer === null) return;
      }
    }
    // Where pages are counted, some APIs say "not found" of the one after the last.
    async #page(args) {
      try {
        return await send(this.#id, args);
      } catch (error) {
        if (error.status === 404 && (this.#how.kind === "page" || this.#how.kind === "offset")) return null;
        throw error;
      }
    }
  }
  freeze(Paged.prototype);

  function method(id, name, how) {
    return (...given) => {
      const args = given.length === 0 || given[0] === undefined ? {} : given[0];
      if (given.length > 1 || args === null || typeof args !== "object" || Array.isArray(args)) {
        throw new TypeError(`${name} takes one object with named arguments`);
      }
      return how ? new Paged(id, args, how) : send(id, args).then((answer) => answer.body);
    };
  }

  // How many letters two names differ by.
  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      }
      row = next;
    }
    return row[b.length];
  }

  const folded = (name) => name.replace(/_/g, "").toLowerCase();

  function unknown(place, path, name) {
    const full = [...path, name].join(".");
    const meant = folded(name);
    const near = Object.keys(place)
      .map((known) => [distance(meant, folded(known)), known])
      .sort(([a], [b]) => a - b)[0];
    let hint = "";
    if (near && near[0] <= Math.max(1, meant.length / 3)) hint = [...path, near[1]].join(".");
    else hint = table.map(([steps]) => steps).find((s) => folded(s[s.length - 1]) === meant)?.join(".") ?? "";
    const known = Object.keys(place).slice(0, 20).join(", ");
    const told = hint ? `Did you mean ${hint}?` : `There is ${known}${Object.keys(place).length > 20 ? ", …" : ""}.`;
    return new TypeError(`The SDK has no ${full}. ${told}`);
  }

  // What the language itself asks of any object; to these a group has no answer.
  const silent = ["then", "toJSON", "constructor", "toString", "valueOf", "prototype", "__proto__"];

  function guarded(place, path) {
    return new Proxy(place, {
      get(inner, name) {
        if (typeof name === "symbol" || hasOwn(inner, name) || silent.includes(name)) return inner[name];
        throw unknown(inner, path, name);
      },
    });
  }

  const tree = create(null);
  for (const [path, id, how] of table) {
    let place = tree;
    for (const step of path.slice(0, -1)) place = place[step] ??= create(null);
    place[path[path.length - 1]] = freeze(method(id, path.join("."), how));
  }
  function closed(place, path) {
    for (const name of Object.keys(place)) {
      if (typeof place[name] === "object") place[name] = closed(place[name], [...path, name]);
    }
    return guarded(freeze(place), path);
  }
  return closed(tree, []);
})

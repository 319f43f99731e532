// The client that scripts use. In comes the host's `call(operationId, args)`, which promises
// {body, next}, and a table of operations; out goes the client. The host does everything else:
// it checks arguments, builds the request, adds credentials. Nothing here is trusted by it.
(function (call, table) {
  "use strict";
  const freeze = Object.freeze;

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

  const at = (value, path) => path.reduce((inner, key) => (inner == null ? undefined : inner[key]), value);

  // A cursor may come as a link to the next page: then the parameter is read out of it.
  function cursorOf(value, name) {
    if (typeof value !== "string" || !/^(https?:\/\/|\/|\?)/.test(value)) return value;
    const query = value.split("?")[1] || "";
    for (const pair of query.split("#")[0].split("&")) {
      const [key, text = ""] = pair.split("=");
      if (decodeURIComponent(key) === name) return decodeURIComponent(text.replace(/\+/g, " "));
    }
    return undefined;
  }

  function following(how, args, answer, rows) {
    if (how.more.length && !at(answer.body, how.more)) return null;
    if (how.kind === "link") return answer.next ? { ...args, ...answer.next } : null;
    if (how.kind === "cursor") {
      const cursor = cursorOf(at(answer.body, how.next), how.name);
      const before = args[how.arg];
      return cursor === undefined || cursor === null || cursor === "" || cursor === before
        ? null
        : { ...args, [how.arg]: cursor };
    }
    const size = how.size === null ? undefined : args[how.size];
    if (rows.length === 0 || (typeof size === "number" && rows.length < size)) return null;
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
      for (;;) {
        const rows = at(answer.body, this.#how.items);
        if (!Array.isArray(rows)) return;
        yield* rows;
        args = following(this.#how, args, answer, rows);
        if (args === null) return;
        answer = await send(this.#id, args);
      }
    }
  }

  function method(id, name, how) {
    return function (args = {}) {
      if (args === null || typeof args !== "object" || Array.isArray(args)) {
        throw new TypeError(`${name} takes one object with named arguments`);
      }
      return how ? new Paged(id, args, how) : send(id, args).then((answer) => answer.body);
    };
  }

  const client = Object.create(null);
  const groups = [client];
  for (const [path, id, how] of table) {
    let place = client;
    for (const step of path.slice(0, -1)) {
      if (!place[step]) groups.push((place[step] = Object.create(null)));
      place = place[step];
    }
    place[path[path.length - 1]] = freeze(method(id, path.join("."), how));
  }
  groups.forEach(freeze);
  return client;
})

// Events and aborting, as far as scripts of their own make use of them: nothing here reaches the host.

export class Event {
  constructor(type, { cancelable = false } = {}) {
    this.type = String(type);
    this.cancelable = Boolean(cancelable);
    this.defaultPrevented = false;
    this.target = null;
  }

  preventDefault() {
    if (this.cancelable) this.defaultPrevented = true;
  }
}

export class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options) {
    if (!listener) return;
    const of = this.#listeners.get(type) ?? [];
    if (!of.some((one) => one.listener === listener)) of.push({ listener, once: Boolean(options?.once) });
    this.#listeners.set(type, of);
  }

  removeEventListener(type, listener) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((one) => one.listener !== listener));
  }

  dispatchEvent(event) {
    event.target = this;
    for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
      if (once) this.removeEventListener(event.type, listener);
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
    }
    this[`on${event.type}`]?.(event);
    return !event.defaultPrevented;
  }
}

const KEY = Symbol("made here");
const abort = (signal, reason) => signal[KEY](reason);

export class AbortSignal extends EventTarget {
  #reason;
  #aborted = false;
  onabort = null;

  constructor(key) {
    if (key !== KEY) throw new TypeError("Illegal constructor");
    super();
  }

  static abort(reason) {
    const signal = new AbortSignal(KEY);
    abort(signal, reason);
    return signal;
  }

  static timeout(delay) {
    const signal = new AbortSignal(KEY);
    setTimeout(() => abort(signal, new DOMException("The operation timed out.", "TimeoutError")), delay);
    return signal;
  }

  static any(signals) {
    const signal = new AbortSignal(KEY);
    for (const one of signals) {
      if (one.aborted) abort(signal, one.reason);
      else one.addEventListener("abort", () => abort(signal, one.reason), { once: true });
    }
    return signal;
  }

  get aborted() {
    return this.#aborted;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  [KEY](reason) {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason === undefined ? new DOMException("This operation was aborted.", "AbortError") : reason;
    this.dispatchEvent(new Event("abort"));
  }
}

export class AbortController {
  #signal = new AbortSignal(KEY);

  get signal() {
    return this.#signal;
  }

  abort(reason) {
    abort(this.#signal, reason);
  }
}

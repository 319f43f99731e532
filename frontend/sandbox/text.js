// UTF-8 to bytes and back, as the Encoding standard has it. Other encodings are absent.

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(text = "") {
    const bytes = [];
    for (const letter of String(text).toWellFormed()) {
      const code = letter.codePointAt(0);
      if (code < 0x80) bytes.push(code);
      else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
      else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    }
    return new Uint8Array(bytes);
  }

  encodeInto(text, into) {
    let read = 0;
    let written = 0;
    for (const letter of String(text)) {
      const bytes = this.encode(letter);
      if (written + bytes.length > into.length) break;
      into.set(bytes, written);
      written += bytes.length;
      read += letter.length;
    }
    return { read, written };
  }
}

const UTF8 = new Set(["utf-8", "utf8", "unicode-1-1-utf-8"]);

export class TextDecoder {
  #fatal;
  #keepMark;
  #rest = [];
  #begun = false;

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!UTF8.has(String(label).trim().toLowerCase())) throw new RangeError(`The encoding ${label} is not supported.`);
    this.#fatal = Boolean(fatal);
    this.#keepMark = Boolean(ignoreBOM);
  }

  get encoding() {
    return "utf-8";
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#keepMark;
  }

  decode(input, { stream = false } = {}) {
    const bytes = [...this.#rest, ...view(input)];
    this.#rest = [];
    const parts = [];
    let at = 0;
    while (at < bytes.length) {
      const [code, size] = letter(bytes, at);
      if (size === 0 && stream) {
        this.#rest = bytes.slice(at);
        break;
      }
      if (code < 0 && this.#fatal) throw new TypeError("The bytes are not UTF-8.");
      const isMark = code === 0xfeff && !this.#begun && !this.#keepMark;
      if (!isMark) parts.push(String.fromCodePoint(code < 0 ? 0xfffd : code));
      this.#begun = true;
      at += size || bytes.length - at;
    }
    if (!stream) this.#begun = false;
    return parts.join("");
  }
}

function view(input) {
  if (input === undefined) return [];
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  return new Uint8Array(input);
}

// The code point at `at` and its size; -1 where the bytes are wrong, size 0 where they end too early.
function letter(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [first, 1];
  const needed = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
  if (needed === 0) return [-1, 1];
  let code = first & (0x3f >> needed);
  for (let i = 1; i <= needed; i++) {
    if (at + i >= bytes.length) return [-1, 0];
    const next = bytes[at + i];
    const [low, high] = i > 1 ? [0x80, 0xbf] : limits(first);
    if (next < low || next > high) return [-1, i];
    code = (code << 6) | (next & 63);
  }
  return [code, needed + 1];
}

// Overlong forms, surrogates and what lies beyond Unicode are told by the second byte.
function limits(first) {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  if (first === 0xf4) return [0x80, 0x8f];
  return [0x80, 0xbf];
}

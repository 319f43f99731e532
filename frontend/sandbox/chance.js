// Random values from the engine's own generator, whose seed the host draws for each script. Good for ids and
// samples, not for keys: there is nothing a script could encrypt or sign with.

const { random, floor } = Math;
const WHOLE = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];

export const crypto = {
  getRandomValues(into) {
    if (!WHOLE.some((kind) => into instanceof kind)) throw new TypeError("getRandomValues takes an array of whole numbers.");
    if (into.byteLength > 65536) throw new RangeError("getRandomValues gives at most 65536 bytes at once.");
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = floor(random() * 256);
    return into;
  },

  randomUUID() {
    const bytes = this.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  },
};

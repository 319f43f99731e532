// What browsers and Node have and the engine does not: goes into every script's realm, before its SDK.
// Network, storage, workers and cryptography are absent on purpose.

import "core-js/web/structured-clone";
import "core-js/web/url";
import "core-js/web/url-search-params";
import { TextDecoder, TextEncoder } from "./text.js";

for (const [name, value] of Object.entries({ TextDecoder, TextEncoder })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

// What browsers and Node have and the engine does not: goes into every script's realm, before its SDK.
// Network, storage, workers and cryptography are absent on purpose.

import "core-js/web/structured-clone";
import "core-js/web/url";
import "core-js/web/url-search-params";
import { crypto } from "./chance.js";
import { AbortController, AbortSignal, Event, EventTarget } from "./events.js";
import { Intl } from "./intl.js";
import { TextDecoder, TextEncoder } from "./text.js";

const added = { AbortController, AbortSignal, Event, EventTarget, Intl, TextDecoder, TextEncoder, crypto };
for (const [name, value] of Object.entries(added)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

// Types of a description by openapi-typescript, and what it took, as JSON: node compile_types.mjs FILE,
// started in a folder that has the package.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const entry = createRequire(`${process.cwd()}/`).resolve("openapi-typescript");
const loaded = await import(pathToFileURL(entry));
const openapiTS = loaded.default.default ?? loaded.default;
const begun = performance.now();
const cpu = process.cpuUsage();
const text = loaded.astToString(await openapiTS(pathToFileURL(process.argv[2]), { silent: true }));
const used = process.cpuUsage(cpu);
const taken = { wall_s: (performance.now() - begun) / 1000, cpu_s: (used.user + used.system) / 1e6 };
console.log(JSON.stringify({ ...taken, bytes: text.length }));

// Comes in: a project's root, whose package.json lists parts, with node_modules installed, and an
// empty folder. Goes out: each part at its place below that folder. Fetching, checking the lock and
// putting the result into the tree are absent: hatch_build.py does them.
//
//   {"copy": "is-number/index.js", "to": "src/ammeter/x/generated/is-number.js"}
//   {"bundle": "frontend/dashboard.js", "to": "src/ammeter/y/generated/dashboard.js", "format": "esm"}

import { cp, mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const [root, staging] = process.argv.slice(2);
const { parts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
const require = createRequire(join(root, "package.json"));

for (const part of parts) {
  const to = join(staging, part.to);
  await mkdir(dirname(to), { recursive: true });
  if (part.copy) {
    await cp(join(root, "node_modules", part.copy), to);
  } else {
    await require("esbuild").build({
      absWorkingDir: root,
      entryPoints: [part.bundle],
      outfile: to,
      bundle: true,
      minify: true,
      format: part.format ?? "esm",
      target: "es2022",
      legalComments: "eof",
      logLevel: "warning",
    });
  }
}

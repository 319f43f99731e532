// The TypeScript client of both eras: node stateless_client.mjs <url> <key> <code> <legacy|auto|version>.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, key, code, mode] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { authorization: `Bearer ${key}` } },
});
const named = mode === "legacy" || mode === "auto";
const client = new Client(
  { name: "stateless_client", version: "1" },
  { versionNegotiation: { mode: named ? mode : { pin: mode } } },
);
await client.connect(transport);
const told = {
  version: client.getNegotiatedProtocolVersion(),
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools,
  found: await client.callTool({ name: "search_sdk", arguments: { query: "list books" } }),
  ran: await client.callTool({ name: "execute_script", arguments: { code } }),
};
await client.close();
console.log(JSON.stringify(told));

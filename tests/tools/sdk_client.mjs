// The TypeScript SDK of the handshake era at an endpoint: node sdk_client.mjs <url> <key> <code>, JSON out.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key, code] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { authorization: `Bearer ${key}` } },
});
const client = new Client({ name: "sdk_client", version: "1" });
await client.connect(transport);
const told = {
  version: transport.protocolVersion,
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools,
  found: await client.callTool({ name: "search_sdk", arguments: { query: "list books" } }),
  ran: await client.callTool({ name: "execute_script", arguments: { code } }),
};
await client.close();
console.log(JSON.stringify(told));

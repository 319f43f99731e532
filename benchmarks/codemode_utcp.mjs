// @utcp/code-mode over the same API, behind the official server of MCP: node codemode_utcp.mjs <port> <upstream>.
// Its tools are synchronous inside the isolate, so calls at once are calls in a row.
import { createServer } from "node:http";
import { CodeModeUtcpClient } from "@utcp/code-mode";
import "@utcp/http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const [port, upstream] = process.argv.slice(2);
const client = await CodeModeUtcpClient.create();
await client.registerManual({
  name: "bench",
  call_template_type: "http",
  http_method: "GET",
  url: `${upstream}/openapi.json`,
});

function server() {
  const made = new McpServer({ name: "utcp", version: "1" });
  made.registerTool("execute", { inputSchema: { code: z.string() } }, async ({ code }) => {
    const { result } = await client.callToolChain(code);
    return { content: [{ type: "text", text: JSON.stringify(result) }] };
  });
  return made;
}

createServer(async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await server().connect(transport);
  await transport.handleRequest(request, response);
}).listen(Number(port), "127.0.0.1");

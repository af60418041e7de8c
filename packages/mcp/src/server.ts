/**
 * Darkroom's tools for language models, over the Model Context Protocol: one server for both transports, a process on
 * the client's machine (stdio.ts) and the API's own `/mcp`. It is a thin client of the HTTP API: the API decides what
 * is allowed, what it costs and whether a request is valid, and its error messages reach the model unchanged.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { addCatalogueTools } from './catalogue-tools.ts';
import { RejectedRequestError, RejectedRequestSchema } from './incoming-message.ts';
import { addTaskTools } from './task-tools.ts';
import { addTextTool } from './text-tool.ts';

/** The version of the tools, not of the service. It is raised when their arguments or results change. */
const VERSION = '1';

const INSTRUCTIONS = `Generate images, videos, audio and text with the models of a Darkroom.
1. list_models lists the models; get_model returns the exact input schema and examples of one model.
2. estimate returns the price, or all errors of an input, and starts nothing.
3. generate starts a task, which costs money, and waits for it; get_task continues to wait for a task that takes longer.
For a text model use text instead of generate.`;

export interface McpServerOptions {
  readonly api: ApiClient;
  /** Whether a tool may continue to wait for a task; default: always. Not while the waiting process is stopping. */
  readonly mayWait?: () => boolean;
  /** The protocol version that the client speaks: `2025-06-18`. Read during a tool call; undefined if unknown. */
  readonly protocolVersion: () => string | undefined;
}

/**
 * The first protocol version with links. Clients of an older version reject a whole result because of a content block
 * of an unknown kind.
 */
const LINKS_SINCE = '2025-06-18';

/**
 * @returns a server that is not connected yet, for a transport that passes it what `takenOf` leaves of messages. Each
 *   connection, and each request over HTTP, needs its own.
 */
export function createMcpServer({ api, mayWait = () => true, protocolVersion }: McpServerOptions): McpServer {
  const server = new McpServer(
    { name: 'darkroom', title: 'Darkroom', version: VERSION },
    { instructions: INSTRUCTIONS },
  );
  server.server.setRequestHandler(RejectedRequestSchema, ({ params }) => {
    throw new RejectedRequestError(params);
  });
  addCatalogueTools(server, api);
  // Versions are dates, which sort as strings.
  const takesLinks = (): boolean => (protocolVersion() ?? '') >= LINKS_SINCE;
  addTaskTools(server, { api, mayWait, takesLinks });
  addTextTool(server, api);
  return server;
}

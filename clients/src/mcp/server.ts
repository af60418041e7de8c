/**
 * The tools of Darkroom for language models, by the Model Context Protocol: one server for both ways of reaching it, a
 * process beside the client (stdio.ts) and the API's own `/mcp`. It is a thin user of the HTTP API: what is allowed,
 * what it costs and what is wrong with a request are the API's to say, and errors reach the model in its words.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { ApiClient } from '../api/api-client.ts';
import { addCatalogueTools } from './catalogue-tools.ts';
import { RejectedRequestError, RejectedRequestSchema } from './incoming-message.ts';
import { addTaskTools } from './task-tools.ts';
import { addTextTool } from './text-tool.ts';

/** Of the tools, not of the service: raised when what they take or answer changes. */
const VERSION = '1';

const INSTRUCTIONS = `Makes pictures, films, sounds and texts with the models of a Darkroom.
1. list_models shows what there is; get_model gives the exact input schema and examples of one model.
2. estimate tells the price, or everything that is wrong with an input, and starts nothing.
3. generate starts a task, which costs money, and waits for it; get_task waits on where the time was not enough.
For a text model use text instead of generate.`;

export interface McpServerOptions {
  readonly api: ApiClient;
  /** Whether a tool may go on waiting for a task; default: always. Not while the process that waits is being ended. */
  readonly mayWait?: () => boolean;
  /** Of the protocol, as the client speaks it: `2025-06-18`. Asked during a tool call; undefined where it is not known. */
  readonly protocolVersion: () => string | undefined;
}

/** Clients of an older protocol reject a whole answer for a block of a kind that they do not know. */
const LINKS_SINCE = '2025-06-18';

/**
 * @returns a server that is not connected yet, for a transport that gives it what `takenOf` leaves of messages. Each
 *   connection, and each request over HTTP, needs one of its own.
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
  // Versions are dates, which sort as texts.
  const takesLinks = (): boolean => (protocolVersion() ?? '') >= LINKS_SINCE;
  addTaskTools(server, { api, mayWait, takesLinks });
  addTextTool(server, api);
  return server;
}

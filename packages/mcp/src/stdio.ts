/**
 * The tools over a process's own standard input and output, as started by clients on the same machine. Nothing else
 * may write to standard output while this runs.
 */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { boundedTransport } from './bounded-transport.ts';
import { takenOf } from './incoming-message.ts';
import { createMcpServer } from './server.ts';

/** Serves until the client closes its end, or the signal fires; pending waits are abandoned then. */
export async function runMcpStdio(api: ApiClient, signal?: AbortSignal): Promise<void> {
  const transport = boundedTransport(new StdioServerTransport(), takenOf);
  let protocolVersion: string | undefined;
  // Receives each message before the server does. A client that requests an unknown version is offered the newest.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no events, only this member
  transport.onmessage = (message) => {
    if (isInitializeRequest(message)) ({ protocolVersion } = message.params);
  };
  const server = createMcpServer({ api, protocolVersion: () => protocolVersion });
  const ended = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no events, only this member
    server.server.onclose = resolve;
  });
  const close = (): void => void server.close();
  process.stdin.once('end', close);
  process.stdin.once('close', close);
  // A client that has exited no longer reads.
  process.stdout.once('error', close);
  signal?.addEventListener('abort', close, { once: true });
  await server.connect(transport);
  if (signal?.aborted === true) close();
  await ended;
  signal?.removeEventListener('abort', close);
}

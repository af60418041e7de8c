/** The official client of the Model Context Protocol, connected over either transport, and the responses it gets. */
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { packageModule } from '../../src/config/package-root.ts';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';

export const WAYS = ['stdio', 'http'] as const;

export interface Called {
  readonly isError: boolean;
  /** All text blocks, joined. */
  readonly text: string;
  readonly content: CallToolResult['content'];
}

export interface McpConnection {
  readonly client: Client;
  call(name: string, args?: Record<string, unknown>, options?: RequestOptions): Promise<Called>;
  close(): Promise<void>;
}

/** @param way by a process next to the client, or by `/mcp` of the api. @param url of the api, without `/v1`. */
export async function connectMcp(way: (typeof WAYS)[number], url: string, key: string): Promise<McpConnection> {
  const client = new Client({ name: 'test', version: '1' });
  const transport =
    way === 'stdio'
      ? new StdioClientTransport({
          command: process.execPath,
          args: [packageModule('test/clients/mcp-stdio-process.ts')],
          env: { PATH: process.env['PATH'] ?? '', DARKROOM_BASE_URL: `${url}/v1`, DARKROOM_API_KEY: key },
        })
      : new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
          requestInit: { headers: { Authorization: `Bearer ${key}` } },
        });
  await client.connect(transport, { timeout: GIVE_UP_MS });
  return {
    client,
    async call(name, args = {}, options = {}) {
      const params = { name, arguments: args };
      const result = (await client.callTool(params, undefined, { timeout: GIVE_UP_MS, ...options })) as CallToolResult;
      const texts = result.content.map((part) => (part.type === 'text' ? part.text : ''));
      return { isError: result.isError === true, text: texts.join('\n').trim(), content: result.content };
    },
    close: () => client.close(),
  };
}

/** The JSON of an answer, after any remark that precedes it. */
export function jsonOf<Value>({ text, isError }: Called): Value {
  assert.equal(isError, false, text);
  return JSON.parse(text.slice(text.indexOf('{'))) as Value;
}

/** The id of the task that an answer is about. */
export function taskIdIn({ text }: Called): string {
  const [taskId] = /tk-svc-[0-9A-Z]{26}/.exec(text) ?? [];
  assert.ok(taskId, text);
  return taskId;
}

/**
 * The tools with the official JavaScript clients of all ages, as they are on npm: the oldest of all, which supports
 * only standard input and output; the first that has streamable HTTP; the newest of that package; and its successor.
 * Each receives the default image.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client as Newest } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as NewestStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as NewestHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Successor, StreamableHTTPClientTransport as SuccessorHttp } from 'mcp-client-2';
import { StdioClientTransport as SuccessorStdio } from 'mcp-client-2/stdio';
import { Client as Oldest } from 'mcp-sdk-0.4.0/client/index.js';
import { StdioClientTransport as OldestStdio } from 'mcp-sdk-0.4.0/client/stdio.js';
import { Client as FirstHttp } from 'mcp-sdk-1.10.0/client/index.js';
import { StdioClientTransport as FirstHttpStdio } from 'mcp-sdk-1.10.0/client/stdio.js';
import { StreamableHTTPClientTransport as FirstHttpHttp } from 'mcp-sdk-1.10.0/client/streamableHttp.js';
import { packageModule } from '../../src/config/package-root.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import type { Called, WAYS } from './mcp-connection.ts';
import { MAX_EVENT_BYTES, MAX_INLINE_BYTES, addressesIn, inlineBytes, imagesIn } from './mcp-images.ts';

/** What every one of these clients supports; the types of their packages have little else in common. */
interface AnyClient {
  connect(transport: never): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface ClientOfSomeAge {
  readonly name: string;
  readonly client: () => AnyClient;
  readonly stdio: new (server: { command: string; args: string[]; env: Record<string, string> }) => unknown;
  readonly http?: new (url: URL, options: { requestInit: RequestInit }) => unknown;
  /** Whether it knows `resource_link` (protocol 2025-06-18). */
  readonly knowsLinks: boolean;
}

const IDENTITY = { name: 'test', version: '1' };
const CLIENTS: readonly ClientOfSomeAge[] = [
  { name: 'sdk 0.4.0', client: () => new Oldest(IDENTITY), stdio: OldestStdio, knowsLinks: false },
  {
    name: 'sdk 1.10.0',
    client: () => new FirstHttp(IDENTITY),
    stdio: FirstHttpStdio,
    http: FirstHttpHttp,
    knowsLinks: false,
  },
  { name: 'sdk 1.32.2', client: () => new Newest(IDENTITY), stdio: NewestStdio, http: NewestHttp, knowsLinks: true },
  {
    name: 'client 2.4.0',
    client: () => new Successor(IDENTITY),
    stdio: SuccessorStdio,
    http: SuccessorHttp,
    knowsLinks: true,
  },
  {
    name: 'client 2.4.0, which looks for a newer protocol first,',
    client: () => new Successor(IDENTITY, { versionNegotiation: { mode: 'auto' } }),
    stdio: SuccessorStdio,
    http: SuccessorHttp,
    knowsLinks: true,
  },
];

let darkroom: Darkroom;
let account: TestAccount;
let taskId: string;
before(async () => {
  darkroom = await startDarkroom();
  account = await darkroom.createAccount();
  const input = { prompt: 'a lighthouse at dusk' };
  taskId = (await account.client.create({ model: 'darkroom/scene', input })).body.data.taskId;
  const { output: [original] = [] } = await account.client.waitForTerminal(taskId);
  assert.ok(original && original.sizeBytes * (4 / 3) > MAX_EVENT_BYTES, `${original?.sizeBytes}`);
});
after(() => darkroom.stop());

function transportOf({ stdio: Stdio, http: Http }: ClientOfSomeAge, way: (typeof WAYS)[number], key: string): unknown {
  if (way === 'http') {
    assert.ok(Http);
    return new Http(new URL(`${darkroom.url}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
  }
  return new Stdio({
    command: process.execPath,
    args: [packageModule('test/clients/mcp-stdio-process.ts')],
    env: { PATH: process.env['PATH'] ?? '', DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: key },
  });
}

for (const each of CLIENTS) {
  for (const way of each.http === undefined ? (['stdio'] as const) : (['stdio', 'http'] as const)) {
    describe(`${each.name} over ${way}`, () => {
      it('lists the tools, and receives the default image as a small copy with the address of the original', async () => {
        const client = each.client();
        await client.connect(transportOf(each, way, account.client.key) as never);
        try {
          const { tools } = await client.listTools();
          assert.ok(tools.some(({ name }) => name === 'generate'));
          for (const media of ['preview', 'full', 'none']) {
            const args = { task_id: taskId, media };
            const answer = (await client.callTool({ name: 'get_task', arguments: args })) as Called;
            const images = imagesIn(answer);
            assert.equal(images.length, media === 'none' ? 0 : 1, media);
            assert.ok(inlineBytes(answer) <= MAX_INLINE_BYTES);
            const links = answer.content.filter(({ type }) => type === 'resource_link');
            assert.equal(links.length, each.knowsLinks ? 1 : 0);
            const [address = ''] = addressesIn(answer);
            assert.equal((await fetch(address)).status, 200);
          }
        } finally {
          await client.close();
        }
      });

      if (way === 'stdio') return;
      it('reports an invalid key in the words of the API', async () => {
        const client = each.client();
        await assert.rejects(
          client.connect(transportOf(each, way, 'nonsense') as never),
          /401|Unauthorized|the API key is missing or not valid/,
        );
      });
    });
  }
}

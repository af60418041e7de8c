/** Mistakes of a client: each gets an error of its own, in an answer that clients accept, however many there are. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { raw } from '../http/raw-request.ts';
import type { RawAnswer } from '../http/raw-request.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { WAYS, connectMcp } from './mcp-connection.ts';
import type { McpConnection } from './mcp-connection.ts';
import { MAX_EVENT_BYTES } from './mcp-images.ts';

const INVALID = { status: 400, error_code: 'INVALID_REQUEST' };
const UNKNOWN = { status: 404, error_code: 'NOT_FOUND' };

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

interface Message {
  readonly id: unknown;
  readonly result?: { readonly isError?: boolean; readonly protocolVersion?: string };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

let served: ServedApp;
let account: ServedAccount;
before(async () => {
  served = await serveApp();
  account = await served.newAccount();
});
after(() => served.close());

function ask(sent: unknown): Promise<RawAnswer> {
  const headers = {
    Authorization: `Bearer ${account.client.key}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  };
  return raw(served.url, 'POST', '/mcp', headers, JSON.stringify(sent));
}

function request(method: string, params?: object, id: number | string = 1): object {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

function messageOf({ text }: RawAnswer): Message {
  return JSON.parse(text.slice(text.indexOf('{'))) as Message;
}

describe('an invalid message to /mcp', () => {
  it('is an error of invalid params that names the field', async () => {
    const call = (params?: object) => request('tools/call', params);
    const name = 'list_models';
    const wrong: readonly (readonly [sent: object, words: RegExp])[] = [
      [call(), /params\.name: must be a string/],
      [call({ name: 5 }), /params\.name: must be a string/],
      [call({ name: 'none' }), /^Unknown tool: none$/],
      [call({ name, arguments: [] }), /params\.arguments: must be an object/],
      [call({ name, arguments: null }), /params\.arguments: must be an object/],
      [call({ name, _meta: 5 }), /params\._meta: must be an object/],
      [call({ name, _meta: { progressToken: {} } }), /params\._meta\.progressToken: must be an integer or a string/],
      [call({ name, _meta: { progressToken: 'x'.repeat(257) } }), /params\._meta\.progressToken: .*256 characters/],
      [request('initialize', {}), /params\.clientInfo: must be an object/],
      [request('initialize', { ...INITIALIZE, capabilities: undefined }), /params\.capabilities: must be an object/],
      [request('initialize', { ...INITIALIZE, protocolVersion: 1 }), /params\.protocolVersion: must be a string/],
      [request('initialize', { ...INITIALIZE, clientInfo: { name: 'x' } }), /params\.clientInfo\.version: must be/],
    ];
    for (const [sent, words] of wrong) {
      const answer = await ask(sent);
      const { id, error } = messageOf(answer);
      assert.deepEqual([answer.status, id, error?.code, error?.data], [200, 1, -32_602, INVALID], answer.text);
      assert.match(error?.message ?? '', words);
    }
  });

  it('is an error of an unknown method, whatever the method is called', async () => {
    for (const method of ['none', 'prompts/list', 'constructor', 'darkroom/rejected']) {
      const answer = await ask(request(method, { code: -32_000, message: 'mine' }));
      const { error } = messageOf(answer);
      assert.deepEqual([answer.status, error?.code, error?.data], [200, -32_601, UNKNOWN], answer.text);
      assert.equal(error?.message, `Method not found: ${method}`);
    }
  });

  it('does not affect the other messages of its batch, and is not answered when it is a notification', async () => {
    const answer = await ask([
      request('ping', undefined, 1),
      request('tools/call', { name: 5 }, 2),
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: {} } },
      { jsonrpc: '2.0', id: 3, result: { _meta: 5 } },
    ]);
    const answers = JSON.parse(answer.text) as readonly Message[];
    const codes = new Map(answers.map(({ id, error }) => [id, error?.code]));
    assert.deepEqual(
      codes,
      new Map([
        [1, undefined],
        [2, -32_602],
      ]),
    );
    const notified = await ask({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 'x' } });
    assert.deepEqual([notified.status, notified.text], [202, '']);
  });

  it('is not reported for `task`, which the protocol lets a server without tasks ignore', async () => {
    for (const task of [{}, { ttl: 60_000 }, 5]) {
      const { result } = messageOf(await ask(request('tools/call', { name: 'list_models', task })));
      assert.ok(result && result.isError === undefined, JSON.stringify(task));
    }
  });
});

describe('the answer to a message with many unknown members', () => {
  const messages = (count: number) => Array.from({ length: count }, () => ({}));
  const text = (count: number) =>
    request('tools/call', { name: 'text', arguments: { model: 'none', messages: messages(count) } });

  it('is smaller than the limit of clients', async () => {
    const large = [
      text(9_000),
      text(20_000),
      request('tools/call', { name: 'x'.repeat(3_000_000) }),
      request('tools/call', { name: 'list_models', arguments: { ['x'.repeat(900_000)]: 1 } }),
      request('ping', undefined, 'x'.repeat(2_000_000)),
      request('x'.repeat(2_000_000)),
      request('initialize', { ...INITIALIZE, clientInfo: { name: 'x'.repeat(2_000_000), version: '1' } }),
    ];
    for (const sent of large) {
      const bytes = Buffer.byteLength((await ask(sent)).text);
      assert.ok(bytes < MAX_EVENT_BYTES, `${bytes} for ${JSON.stringify(sent).slice(0, 100)}`);
    }
  });

  it('is the same as without them: the server reads none of them', async () => {
    const icons = Array.from({ length: 15_000 }, () => 1);
    const clientInfo = { ...INITIALIZE.clientInfo, icons };
    const capabilities = { experimental: icons, sampling: icons };
    const initialized = messageOf(await ask(request('initialize', { ...INITIALIZE, clientInfo, capabilities })));
    assert.equal(initialized.result?.protocolVersion, '2025-11-25', JSON.stringify(initialized).slice(0, 500));
    const listed = messageOf(await ask(request('tools/list', { cursor: icons, _meta: icons })));
    assert.ok(listed.result, JSON.stringify(listed).slice(0, 500));
  });
});

for (const way of WAYS) {
  describe(`an error over ${way}`, () => {
    let mcp: McpConnection;
    before(async () => {
      mcp = await connectMcp(way, served.url, account.client.key);
    });
    after(() => mcp.close());

    it('reaches the client as an error with a code and data', async () => {
      await assert.rejects(mcp.call('none'), { code: -32_602, data: INVALID });
      const unknown = mcp.client.request({ method: 'none' }, EmptyResultSchema);
      await assert.rejects(unknown, { code: -32_601, data: UNKNOWN });
    });

    it('in the arguments of a tool is an error of the tool, truncated when it is long', async () => {
      const messages = Array.from({ length: 9_000 }, () => ({}));
      const { isError, text } = await mcp.call('text', { model: 'none', messages });
      assert.equal(isError, true);
      assert.match(text, /^MCP error -32602: .*\[Cut: the answer is longer than one call may be/s);
    });
  });
}

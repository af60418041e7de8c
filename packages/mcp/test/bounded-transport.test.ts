/** Nothing larger than clients accept leaves the server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { boundedTransport } from '../src/bounded-transport.ts';

function recordingTransport(): { readonly transport: Transport; readonly sent: JSONRPCMessage[] } {
  const sent: JSONRPCMessage[] = [];
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => {
      sent.push(message);
    },
  };
  return { transport, sent };
}

describe('a message of the server', () => {
  it('has at most a megabyte, however much a tool answers', async () => {
    const { transport, sent } = recordingTransport();
    const content = [{ type: 'text', text: 'x'.repeat(2_000_000) }];

    await boundedTransport(transport).send({ jsonrpc: '2.0', id: 1, result: { content } });

    assert.ok(JSON.stringify(sent).length < 1024 * 1024);
  });

  it('has a cut message and a kind if it is an error', async () => {
    const { transport, sent } = recordingTransport();
    const error = { code: -32_603, message: 'x'.repeat(5_000) };

    await boundedTransport(transport).send({ jsonrpc: '2.0', id: 1, error });

    const [first] = sent;
    assert.ok(first !== undefined && 'error' in first);
    assert.equal(first.error.message.length, 2_000);
    assert.notEqual(first.error.data, undefined);
  });

  it('is otherwise sent as it is', async () => {
    const { transport, sent } = recordingTransport();
    const message: JSONRPCMessage = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } };

    await boundedTransport(transport).send(message);

    assert.deepEqual(sent, [message]);
  });
});

describe('a message of the client', () => {
  it('reaches the server as far as it is taken', () => {
    const { transport } = recordingTransport();
    const received: JSONRPCMessage[] = [];
    const outer = boundedTransport(transport, (message) => ('id' in message ? message : undefined));
    const server: Pick<Transport, 'onmessage'> = {
      onmessage: (message) => {
        received.push(message);
      },
    };
    Object.assign(outer, server);

    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/initialized' });
    transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'ping' });

    assert.deepEqual(received, [{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
  });
});

/** What the server gets of a client's message: only what it needs, and one error in place of a list of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RejectedRequestError, takenOf } from '../src/incoming-message.ts';

const request = (method: string, params?: unknown) => takenOf({ jsonrpc: '2.0', id: 1, method, params });
const rejected = (code: number, message: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'darkroom/rejected',
  params: { code, message },
});

describe('a request', () => {
  it('is passed on with what the server reads of it', () => {
    const params = { name: 'generate', arguments: { model: 'a/b' }, _meta: { progressToken: 7, other: 1 }, task: {} };

    assert.deepEqual(request('tools/call', params), {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'generate', arguments: { model: 'a/b' }, _meta: { progressToken: 7 } },
    });
    assert.deepEqual(request('ping', { much: 'x'.repeat(1_000) }), {
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: {},
    });
  });

  it('is replaced by its first error', () => {
    assert.deepEqual(request('resources/list'), rejected(-32_601, 'Method not found: resources/list'));
    assert.deepEqual(request('tools/call', { name: 'no_tool' }), rejected(-32_602, 'Unknown tool: no_tool'));
    assert.deepEqual(
      request('tools/call', { name: 'generate', arguments: [] }),
      rejected(-32_602, 'invalid request: params.arguments: must be an object'),
    );
    assert.deepEqual(
      request('initialize', { capabilities: {}, clientInfo: { name: 'x'.repeat(257), version: '1' } }),
      rejected(-32_602, 'invalid request: params.protocolVersion: must be a string of at most 256 characters'),
    );
  });

  it('that is rejected has the code of the API', () => {
    assert.equal(new RejectedRequestError({ code: -32_601, message: 'Method not found: x' }).code, -32_601);
    assert.notDeepEqual(
      new RejectedRequestError({ code: -32_601, message: 'm' }).data,
      new RejectedRequestError({ code: -32_602, message: 'm' }).data,
    );
  });
});

describe('a message that needs no answer', () => {
  it('is passed on if it says that the client is ready, or gives up a call', () => {
    assert.deepEqual(takenOf({ method: 'notifications/initialized', params: { x: 1 } }), {
      jsonrpc: '2.0',
      method: 'notifications/initialized',
    });
    assert.deepEqual(takenOf({ method: 'notifications/cancelled', params: { requestId: 4, reason: 'late' } }), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 4 },
    });
  });

  it('is dropped otherwise', () => {
    assert.equal(takenOf({ method: 'notifications/cancelled', params: {} }), undefined);
    assert.equal(takenOf({ method: 'notifications/progress', params: {} }), undefined);
    assert.equal(takenOf({ id: 1, result: {} }), undefined);
  });
});

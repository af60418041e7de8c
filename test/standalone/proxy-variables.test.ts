import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exceptLoopback } from '../../src/standalone/settings.ts';

const LOOPBACK = '127.0.0.1,localhost,::1';

describe('the proxy variables of our own processes', () => {
  it('except the loopback', () => {
    assert.deepEqual(exceptLoopback({ HTTP_PROXY: 'http://proxy:3128' }), { NO_PROXY: LOOPBACK, no_proxy: LOOPBACK });
  });

  it('keep what the operator excepted, in either spelling and for gRPC', () => {
    const environment = { NO_PROXY: 'db.internal, localhost', no_grpc_proxy: 'temporal.internal' };

    assert.deepEqual(exceptLoopback(environment), {
      NO_PROXY: 'db.internal,localhost,127.0.0.1,::1',
      no_proxy: 'db.internal,localhost,127.0.0.1,::1',
      no_grpc_proxy: `temporal.internal,${LOOPBACK}`,
    });
    assert.equal(exceptLoopback({ no_proxy: 'a', NO_PROXY: 'b' })['no_proxy'], `a,${LOOPBACK}`);
    assert.equal(exceptLoopback({ no_proxy: '', NO_PROXY: 'b' })['no_proxy'], `b,${LOOPBACK}`);
    assert.equal(exceptLoopback({ no_proxy: '*' })['NO_PROXY'], '*');
  });
});

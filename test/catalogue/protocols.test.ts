import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createProviders } from '../../src/context.ts';
import { createEnginePool } from '../../src/providers/embedded/engine-pool.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { silentLogger } from '../../src/telemetry/log.ts';

describe('the protocols that a model file may name', () => {
  it('are exactly those that a worker speaks', async () => {
    const logger = silentLogger();
    const pool = createEnginePool({ threads: 1, logger });
    try {
      const spoken = createProviders(pool, { secrets: { get: () => undefined }, logger });

      assert.deepEqual([...spoken.keys()].toSorted(), PROTOCOLS.map(({ name }) => name).toSorted());
    } finally {
      await pool.close();
    }
  });

  it('have no field in common, so that a field belongs to one protocol', () => {
    const fields = PROTOCOLS.flatMap((protocol) => Object.keys(protocol.fields ?? {}));

    assert.equal(new Set(fields).size, fields.length);
  });
});

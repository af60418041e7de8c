import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PROTOCOLS } from '../../src/catalogue/definition.ts';
import { createProviders } from '../../src/context.ts';
import { createEnginePool } from '../../src/providers/embedded/engine-pool.ts';
import { silentLogger } from '../../src/telemetry/log.ts';

describe('the protocols that a model file may name', () => {
  it('are exactly those that a worker speaks', async () => {
    const logger = silentLogger();
    const pool = createEnginePool({ threads: 1, logger });
    try {
      const spoken = createProviders(pool, { secrets: { get: () => undefined }, logger });

      assert.deepEqual([...spoken.keys()].toSorted(), [...PROTOCOLS].toSorted());
    } finally {
      await pool.close();
    }
  });
});

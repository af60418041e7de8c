/** What happens to tasks whose outputs cannot be stored (contract §3 `STORAGE_UNAVAILABLE`). */
import assert from 'node:assert/strict';
import { readFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';

describe('a store that is unavailable until the deadline', () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    const swatch = JSON.parse(await readFile(packageFile('test/bench/models/swatch.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const pricing = { unit: 'image', usd: '0.5' };
    // A task that is to fail must have tried to store before its deadline, on a busy machine too.
    for (const [name, seconds] of Object.entries({ hasty: 10, patient: 600 })) {
      const limits = { queuedSeconds: 600, handlingSeconds: seconds, archivingSeconds: seconds };
      await writeFile(
        path.join(modelsDir, `${name}.json`),
        JSON.stringify({ ...swatch, name: `test/${name}`, limits, pricing }),
      );
    }
    darkroom = await startDarkroom({ environment: { MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  // Proves C3-21.
  it('fails the task as STORAGE_UNAVAILABLE, without a charge, and the next one succeeds when it is back', async () => {
    const { client } = await darkroom.createAccount();
    const { storeDirectory } = darkroom;
    const first = await client.create({ model: 'test/patient', input: { prompt: 'grey' } });
    assert.equal((await client.waitForTerminal(first.body.data.taskId)).status, 'success');
    await rename(storeDirectory, `${storeDirectory}-away`);
    await writeFile(storeDirectory, 'no directory');
    const created = await client.create({ model: 'test/hasty', input: { prompt: 'grey' } });

    const failed = await client.waitForTerminal(created.body.data.taskId);

    assert.equal(failed.status, 'fail');
    assert.equal(failed.error?.code, 'STORAGE_UNAVAILABLE');
    assert.equal(failed.billing.captured, '0');
    assert.equal(failed.billing.released, '0.5');
    await rm(storeDirectory);
    await rename(`${storeDirectory}-away`, storeDirectory);
    const again = await client.create({ model: 'test/patient', input: { prompt: 'grey' } });
    assert.equal((await client.waitForTerminal(again.body.data.taskId)).status, 'success');
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });
});

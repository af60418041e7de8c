/** A response that cannot be requested again, held in memory until it is recorded. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { persistWithRetry } from '../../src/tasks/lifecycle/persist-with-retry.ts';
import { DatabaseUnavailableError } from '../../src/database/database.ts';

describe('a result that is held in memory', () => {
  it('is written once the database is back', async () => {
    let tries = 0;
    const write = (): Promise<number> => {
      tries += 1;
      return tries < 3 ? Promise.reject(new DatabaseUnavailableError('away')) : Promise.resolve(tries);
    };

    assert.equal(await persistWithRetry(new AbortController().signal, write), 3);
  });

  it('is written although the signal fires while it is being written', async () => {
    const stop = new AbortController();
    const write = (): Promise<string> => {
      stop.abort(new Error('stopped'));
      return Promise.resolve('written');
    };

    assert.equal(await persistWithRetry(stop.signal, write), 'written');
  });

  it('is given up when the signal fires and the database is still unavailable', async () => {
    const stop = new AbortController();
    let tries = 0;
    const write = (): Promise<string> => {
      tries += 1;
      stop.abort(new Error('stopped'));
      return Promise.reject(new DatabaseUnavailableError('away'));
    };

    await assert.rejects(persistWithRetry(stop.signal, write), /stopped/);
    assert.equal(tries, 1);
  });
});

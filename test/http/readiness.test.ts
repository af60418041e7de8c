/** A probe is answered in time, whatever the state of what it checks. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { StoreUnavailableError } from '../../src/objects/stores/object-store.ts';
import { errorOf, raw } from './raw-request.ts';
import { createImage } from './route-requests.ts';
import { serveApp } from './serve.ts';

const served = await serveApp();
after(() => served.close());

describe('readiness', () => {
  it('fails while the database does not respond, and succeeds when it does again', async () => {
    const { database } = served.http;
    const { check } = database;
    let questions = 0;
    let giveUp = (): void => undefined;
    Object.assign(database, {
      check: () => {
        questions += 1;
        return new Promise<never>((_resolve, reject) => {
          giveUp = () => reject(new Error('the database is away'));
        });
      },
    });
    try {
      const answers = await Promise.all([1, 2, 3].map(() => raw(served.url, 'GET', '/readyz')));
      for (const { status, text } of answers) {
        assert.equal(status, 503);
        assert.equal((JSON.parse(text) as { database: boolean }).database, false);
      }
      assert.equal(questions, 1, 'who asks while a question is out asks no other');
    } finally {
      Object.assign(database, { check });
      giveUp();
    }
    await waitFor('it is ready', async () => (await raw(served.url, 'GET', '/readyz')).status === 200);
  });

  it('does not depend on the store, nor wait for it, and reports what is known of it', async (t) => {
    const away = await serveApp();
    let answer = (_isUp: boolean): void => undefined;
    Object.assign(away.http.store, {
      check: () =>
        new Promise<void>((resolve, reject) => {
          answer = (isUp) => (isUp ? resolve() : reject(new Error('the store is away')));
        }),
    });
    const readiness = async (): Promise<unknown> => {
      const { status, text } = await raw(away.url, 'GET', '/readyz');
      return [status, (JSON.parse(text) as { store: unknown }).store];
    };
    t.after(() => away.close());
    assert.deepEqual(await readiness(), [200, null]);
    answer(false);
    assert.deepEqual(await readiness(), [200, false]);
  });
});

describe('what needs the store while it does not respond', () => {
  it('answers 503 by itself, and names what is away', async (t) => {
    const away = await serveApp();
    t.after(() => away.close());
    const { client } = await away.newAccount();
    const headers = { Authorization: `Bearer ${client.key}`, 'Content-Type': 'image/png' };
    const upload = () => createImage().then((image) => raw(away.url, 'POST', '/v1/files', headers, image));
    const { id } = (JSON.parse((await upload()).text) as { data: { id: string } }).data;
    const fail = (): Promise<never> =>
      Promise.reject(new StoreUnavailableError('read', { cause: Object.assign(new Error(), { code: 'EIO' }) }));
    Object.assign(away.http.store, { put: fail, read: fail, head: fail });

    const answers = [await upload(), await raw(away.url, 'GET', `/v1/files/${id}/content`, headers)];

    for (const answer of answers) {
      assert.deepEqual(errorOf(answer), { status: 503, code: 'SERVICE_UNAVAILABLE' });
      const { message } = JSON.parse(answer.text) as { message: string };
      assert.match(message, /^the object store is not available at this moment; retry/);
      assert.doesNotMatch(answer.text, /EIO/);
    }
  });
});

/** The admin listener of a real api process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reservePort } from '../support/reserve-port.ts';
import { startDarkroom } from '../support/darkroom.ts';

const ADMIN_TOKEN = 'an-admin-token-of-at-least-32-characters';

describe('an api process with an admin token', () => {
  it('listens for operators beside its clients, and stops with them', async () => {
    const port = await reservePort();
    const environment = { ADMIN_TOKEN, ADMIN_PORT: String(port) };
    const darkroom = await startDarkroom({ apis: 1, workers: 0, environment });
    const url = `http://127.0.0.1:${port}/admin/queues`;
    try {
      assert.equal((await fetch(url, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } })).status, 200);
      assert.equal((await fetch(url)).status, 401);
    } finally {
      await darkroom.stop();
    }
    await assert.rejects(fetch(url));
  });

  it('fails with a clear message when the port of the admin listener is in use', async () => {
    const environment = { ADMIN_TOKEN, ADMIN_PORT: String(await reservePort()) };

    await assert.rejects(
      startDarkroom({ apis: 2, workers: 0, environment }).then((darkroom) => darkroom.stop()),
      /the api ended with 1:[^]*port \d+ is in use; stop what listens there, or set ADMIN_PORT to another/,
    );
  });
});

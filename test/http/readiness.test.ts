/** A probe is answered in time, whatever the state of what it checks. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { raw } from './raw-request.ts';
import { serveApp } from './serve.ts';

const served = await serveApp();
after(() => served.close());

/** Neither resolves nor fails. */
const never = (): Promise<never> => new Promise(() => undefined);

describe('readiness', () => {
  for (const part of ['database', 'store'] as const) {
    it(`fails while the ${part} does not respond, and succeeds when it does again`, async () => {
      const { [part]: asked } = served.http;
      const { check } = asked;
      let questions = 0;
      Object.assign(asked, {
        check: () => {
          questions += 1;
          return never();
        },
      });
      try {
        const answers = await Promise.all([1, 2, 3].map(() => raw(served.url, 'GET', '/readyz')));
        for (const { status, text } of answers) {
          assert.equal(status, 503);
          assert.equal((JSON.parse(text) as Record<string, unknown>)[part], false);
        }
        assert.equal(questions, 1, 'who asks while a question is out asks no other');
      } finally {
        Object.assign(asked, { check });
      }
    });
  }
});

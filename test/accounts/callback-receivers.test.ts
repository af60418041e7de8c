/** Receivers that fail: since when, how often, and when that is reset. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  isReduced,
  listFailingReceivers,
  recordReceiverAnswer,
  recordReceiverFailure,
} from '../../src/accounts/callback-receivers.ts';
import { newId } from '../../src/domain/ids.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const ORIGIN = 'https://receiver.example';
const OTHER = 'https://other.example:8443';
const DAY_MS = 86_400_000;

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

/** Moves the records of a receiver back by the given days. */
async function age(accountId: string, failingDays: number, lastFailedDays: number): Promise<void> {
  await test.database.query(
    {
      name: 'test_age_receivers',
      text: `UPDATE callback_receivers
                SET failing_since = now() - make_interval(days => $2), last_failed_at = now() - make_interval(days => $3)
              WHERE account_id = $1`,
    },
    [accountId, failingDays, lastFailedDays],
  );
}

const list = (accountId: string, origin?: string) => listFailingReceivers(test.database, accountId, origin);

describe('a failing receiver', () => {
  it('is reported with the first failure, the number of failures and the last failure, to its account only', async () => {
    const [accountId, other] = [newId('acc'), newId('acc')];
    await recordReceiverFailure(test.database, accountId, ORIGIN, { httpStatus: 500 });
    await age(accountId, 3, 1);
    await recordReceiverFailure(test.database, accountId, ORIGIN, { errorClass: 'timeout' });
    await recordReceiverFailure(test.database, accountId, OTHER, { httpStatus: 404 });

    const [first, second] = await list(accountId);

    assert.deepEqual(
      [first?.origin, first?.givenUp, first?.lastHttpStatus, first?.lastErrorClass],
      [ORIGIN, 2, null, 'timeout'],
    );
    assert.ok(Math.abs(Date.now() - (first?.failingSince.getTime() ?? 0) - 3 * DAY_MS) < 60_000);
    assert.ok(Math.abs(Date.now() - (first?.lastFailedAt.getTime() ?? 0)) < 60_000);
    assert.deepEqual([second?.origin, second?.givenUp, second?.lastHttpStatus], [OTHER, 1, 404]);
    assert.deepEqual(
      (await list(accountId, OTHER)).map(({ origin }) => origin),
      [OTHER],
    );
    assert.deepEqual(await list(other), []);
  });

  it('is cleared by one successful delivery, and other receivers are not', async () => {
    const accountId = newId('acc');
    await recordReceiverFailure(test.database, accountId, ORIGIN, { httpStatus: 500 });
    await recordReceiverFailure(test.database, accountId, OTHER, { httpStatus: 500 });

    await recordReceiverAnswer(test.database, accountId, ORIGIN);
    await recordReceiverAnswer(test.database, accountId, ORIGIN);

    assert.deepEqual(
      (await list(accountId)).map(({ origin }) => origin),
      [OTHER],
    );
  });

  it('is deleted when nothing was sent to it for a week, and is counted from zero after that', async () => {
    const accountId = newId('acc');
    await recordReceiverFailure(test.database, accountId, ORIGIN, { httpStatus: 500 });
    await recordReceiverFailure(test.database, accountId, ORIGIN, { httpStatus: 500 });
    await age(accountId, 30, 8);

    assert.deepEqual(await list(accountId), []);
    await recordReceiverFailure(test.database, accountId, ORIGIN, { httpStatus: 502 });
    const [again] = await list(accountId);
    assert.equal(again?.givenUp, 1);
    assert.ok(Date.now() - again.failingSince.getTime() < 60_000);

    await age(accountId, 30, 8);
    await recordReceiverFailure(test.database, accountId, OTHER, { httpStatus: 502 });
    const rows = await test.database.query(
      { name: 'test_receivers', text: 'SELECT origin FROM callback_receivers WHERE account_id = $1' },
      [accountId],
    );
    assert.deepEqual(rows, [{ origin: OTHER }]);
  });

  it('counts every one of many concurrent failures', async () => {
    const accountId = newId('acc');

    await Promise.all(
      Array.from({ length: 40 }, () =>
        recordReceiverFailure(test.database, accountId, ORIGIN, { errorClass: 'unreachable' }),
      ),
    );

    assert.deepEqual(
      (await list(accountId)).map(({ givenUp }) => givenUp),
      [40],
    );
  });

  it('gets one attempt per delivery after the configured number of days, and never when that is 0', () => {
    const now = Date.now();
    const failing = (days: number) => ({
      origin: ORIGIN,
      failingSince: new Date(now - days * DAY_MS),
      lastFailedAt: new Date(now),
      lastHttpStatus: 500,
      lastErrorClass: null,
      givenUp: 1,
    });

    assert.equal(isReduced(failing(5), 5, now), true);
    assert.equal(isReduced(failing(4.99), 5, now), false);
    assert.equal(isReduced(failing(400), 0, now), false);
  });
});

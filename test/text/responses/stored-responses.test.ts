/**
 * Stored responses, on a real PostgreSQL: who can read them, for how long, and how they are continued (contract §9).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../../src/database/database.ts';
import { ResponseInProgressError } from '../../../src/text/responses/wait-for-calls.ts';
import type { EarlierItems } from '../../../src/text/responses/decode-input.ts';
import { MAX_CHAIN, readConversation } from '../../../src/text/responses/read-conversation.ts';
import {
  RESPONSE_RETENTION_DAYS,
  ResponseNotFoundError,
  deleteExpiredResponses,
  deleteResponse,
  listInputItems,
  readResponse,
  saveResponse,
} from '../../../src/text/responses/stored-responses.ts';
import { InvalidTextRequest } from '../../../src/text/text-failure.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { answerOf, args, call, decode, finish, text } from './answers.ts';

const NOW = Date.UTC(2026, 10, 22);
const DAY_MS = 86_400_000;
/** Checks once, and does not wait. */
const NO_WAIT = { waitMs: 0, pollMs: 1 };
/** Waits as long as a test may take. */
const WAIT = { waitMs: 30_000, pollMs: 5 };
const AT_ONCE = { now: NOW, wait: NO_WAIT };

let room: TestDatabase;
let database: Database;
before(async () => {
  room = await createTestDatabase();
  database = room.database;
});
after(() => room.close());

const newResponseId = (): string => `resp_${randomUUID().replaceAll('-', '')}`;
const newAccount = (): string => `acc_${randomUUID()}`;

interface Kept {
  readonly id: string;
  readonly accountId: string;
  readonly response: Readonly<Record<string, unknown>>;
}

/** Stores an answer to an input, as the endpoint does. */
async function keep(
  accountId: string,
  {
    id = newResponseId(),
    input = 'Hello',
    previousId,
    now = NOW,
    said = [text('Hi'), finish('stop')],
  }: {
    readonly id?: string;
    readonly input?: unknown;
    readonly previousId?: string | undefined;
    readonly now?: number;
    readonly said?: Parameters<typeof answerOf>[0];
  } = {},
): Promise<Kept> {
  const { answer } = answerOf(said, {}, { id });
  const response = { ...answer, previous_response_id: previousId ?? null };
  const decoded = decode({ model: 'some-model', input }, { conversation: [], referenced: new Map() });
  const deltas = { '0.content.0': [1, 1] };
  await saveResponse(database, { id, accountId, previousId, now, response, input: decoded.input, deltas });
  return { id, accountId, response };
}

/** A call in progress. */
async function begin(accountId: string, id: string, isStored = true): Promise<void> {
  await database.query(
    {
      name: 'test_insert_text_call',
      text: `INSERT INTO text_calls (id, account_id, key_id, model, process_id, is_stored, held_micro_usd, floor_micro_usd, input_tokens)
             VALUES ($1, $2, 'key', 'some-model', gen_random_uuid(), $3, 10, 1, 1)`,
    },
    [id, accountId, isStored],
  );
}

async function settle(id: string): Promise<void> {
  await database.query(
    {
      name: 'test_settle_text_call',
      text: 'UPDATE text_calls SET settled_at = now(), captured_micro_usd = 1 WHERE id = $1',
    },
    [id],
  );
}

/** The texts of a conversation, speaker by speaker. */
function wordsOf({ conversation }: EarlierItems): readonly string[] {
  return conversation.map((item) => {
    if (item.type !== 'message') return item.type;
    const [part] = item.content;
    return `${item.role}: ${part !== undefined && 'text' in part ? part.text : ''}`;
  });
}

function continued(
  accountId: string,
  previousResponseId: string,
  { now = NOW, wait = NO_WAIT } = {},
): Promise<EarlierItems> {
  return readConversation(database, accountId, { previousResponseId, itemIds: [], now, wait });
}

const isNotFound = (error: unknown): boolean =>
  error instanceof InvalidTextRequest &&
  error.param === 'previous_response_id' &&
  error.code === 'previous_response_not_found';

describe('a stored response', () => {
  it('is written once, and read as it was returned, field by field', async () => {
    const { id, accountId, response } = await keep(newAccount());

    await keep(accountId, { id, said: [text('Another'), finish('stop')] });

    const read = await readResponse(database, accountId, id, AT_ONCE);
    assert.equal(JSON.stringify(read), JSON.stringify(response));
  });

  it('preserves text that a database cannot store as JSON', async () => {
    const odd = 'a\u0000b \ud83d c';
    const { id, accountId, response } = await keep(newAccount(), { input: odd, said: [text(odd), finish('stop')] });

    assert.deepEqual(await readResponse(database, accountId, id, AT_ONCE), response);
    assert.deepEqual(wordsOf(await continued(accountId, id)), [`user: ${odd}`, `assistant: ${odd}`]);
  });

  it('is hidden from other accounts', async () => {
    const { id } = await keep(newAccount());
    const stranger = newAccount();

    await assert.rejects(readResponse(database, stranger, id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(deleteResponse(database, stranger, id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(listInputItems(database, stranger, id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(continued(stranger, id), isNotFound);
  });

  it('is not found by a malformed id', async () => {
    const accountId = newAccount();
    for (const id of ['resp_unknown', '', 'a b', '\u0000', `resp_${'x'.repeat(500)}`]) {
      await assert.rejects(readResponse(database, accountId, id, AT_ONCE), ResponseNotFoundError);
      await assert.rejects(deleteResponse(database, accountId, id, AT_ONCE), ResponseNotFoundError);
      await assert.rejects(continued(accountId, id), isNotFound);
    }
  });

  it('is not found after its retention', async () => {
    const { id, accountId } = await keep(newAccount());
    const lastMoment = NOW + RESPONSE_RETENTION_DAYS * DAY_MS - 1;

    await readResponse(database, accountId, id, { ...AT_ONCE, now: lastMoment });
    await assert.rejects(
      readResponse(database, accountId, id, { ...AT_ONCE, now: lastMoment + 1 }),
      ResponseNotFoundError,
    );
    await assert.rejects(continued(accountId, id, { now: lastMoment + 1 }), isNotFound);
  });

  it('is deleted after its retention, and others are not', async () => {
    const long = await createTestDatabase();
    try {
      const save = async (id: string, now: number): Promise<void> =>
        saveResponse(long.database, { id, accountId: 'acc', previousId: undefined, now, response: { id }, input: [] });
      // More than one statement deletes at a time.
      for (let index = 0; index < 503; index++) await save(`resp_old_${index}`, NOW - 31 * DAY_MS);
      await save('resp_new', NOW - 29 * DAY_MS);

      const pass = () => deleteExpiredResponses(long.database, { now: NOW, limit: 500 });
      assert.deepEqual([await pass(), await pass(), await pass()], [500, 3, 0]);
      assert.equal((await readResponse(long.database, 'acc', 'resp_new', AT_ONCE))['id'], 'resp_new');
    } finally {
      await long.close();
    }
  });

  it('leaves no content when it is deleted', async () => {
    const { id, accountId } = await keep(newAccount(), { input: 'my secret' });

    const answer = await deleteResponse(database, accountId, id, AT_ONCE);

    assert.deepEqual(answer, { id, object: 'response', deleted: true });
    await assert.rejects(readResponse(database, accountId, id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(listInputItems(database, accountId, id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(deleteResponse(database, accountId, id, AT_ONCE), ResponseNotFoundError);
    const [row] = await database.query<{ row: string }>(
      { name: 'test_whole_row', text: 'SELECT row_to_json(r)::text AS row FROM text_responses r WHERE id = $1' },
      [id],
    );
    assert.doesNotMatch(row?.row ?? '', /secret|Hi|content/);
  });
});

describe('the input items of a response', () => {
  it('are listed page by page, the last first', async () => {
    const input = ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content }));
    const { id, accountId } = await keep(newAccount(), { input });
    const tail = id.slice('resp_'.length);
    const page = async (options: object): Promise<unknown> => {
      const list = await listInputItems(database, accountId, id, { ...AT_ONCE, ...options });
      const ids = (list['data'] as { id: string }[]).map((item) => item.id.replace(`msg_${tail}_`, ''));
      return [...ids, list['has_more']];
    };

    assert.deepEqual(await page({}), ['i4', 'i3', 'i2', 'i1', 'i0', false]);
    assert.deepEqual(await page({ limit: 2 }), ['i4', 'i3', true]);
    assert.deepEqual(await page({ limit: 2, after: `msg_${tail}_i3` }), ['i2', 'i1', true]);
    assert.deepEqual(await page({ order: 'asc', after: `msg_${tail}_i3` }), ['i4', false]);
    assert.deepEqual(await page({ after: 'msg_unknown' }), [false]);
  });

  it('are its own, in full', async () => {
    const first = await keep(newAccount(), { input: 'one' });
    const { id, accountId } = await keep(first.accountId, { input: 'two', previousId: first.id });
    const itemId = `msg_${id.slice('resp_'.length)}_i0`;

    assert.deepEqual(await listInputItems(database, accountId, id, AT_ONCE), {
      object: 'list',
      data: [
        {
          type: 'message',
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_text', text: 'two' }],
          id: itemId,
        },
      ],
      first_id: itemId,
      last_id: itemId,
      has_more: false,
    });
  });
});

describe('a response in progress', () => {
  it('is waited for', async () => {
    const accountId = newAccount();
    const id = newResponseId();
    await begin(accountId, id);
    const patient = { now: NOW, wait: WAIT };

    const readers = Promise.all([
      readResponse(database, accountId, id, patient),
      listInputItems(database, accountId, id, patient),
      continued(accountId, id, patient),
    ]);
    const { response } = await keep(accountId, { id });
    await settle(id);

    const [read, , conversation] = await readers;
    assert.deepEqual(read, response);
    assert.deepEqual(wordsOf(conversation), ['user: Hello', 'assistant: Hi']);
  });

  it('is available as soon as it is written, before its call is settled', async () => {
    const accountId = newAccount();
    const { id, response } = await keep(accountId);
    await begin(accountId, id);

    assert.deepEqual(await readResponse(database, accountId, id, AT_ONCE), response);
  });

  // Proves C1-15.
  it('is reported as in progress when waiting did not help', async () => {
    const accountId = newAccount();
    const id = newResponseId();
    await begin(accountId, id);

    const read = await readResponse(database, accountId, id, AT_ONCE);

    assert.deepEqual(
      [read['id'], read['object'], read['status'], read['model']],
      [id, 'response', 'in_progress', 'some-model'],
    );
    assert.ok(Number.isInteger(read['created_at']));
    await assert.rejects(deleteResponse(database, accountId, id, AT_ONCE), ResponseInProgressError);
    await assert.rejects(listInputItems(database, accountId, id, AT_ONCE), ResponseInProgressError);
    await assert.rejects(
      continued(accountId, id),
      (error) => error instanceof InvalidTextRequest && error.code === 'response_in_progress',
    );
  });

  it('is hidden from other accounts, and never found when it is not to be stored', async () => {
    const [accountId, id, unkept] = [newAccount(), newResponseId(), newResponseId()];
    await begin(accountId, id);
    await begin(accountId, unkept, false);

    await assert.rejects(readResponse(database, newAccount(), id, AT_ONCE), ResponseNotFoundError);
    await assert.rejects(readResponse(database, accountId, unkept, AT_ONCE), ResponseNotFoundError);
  });

  it('is not found once its call was settled without an answer', async () => {
    const accountId = newAccount();
    const id = newResponseId();
    await begin(accountId, id);
    const reader = assert.rejects(
      readResponse(database, accountId, id, { now: NOW, wait: WAIT }),
      ResponseNotFoundError,
    );

    await settle(id);

    await reader;
  });
});

/** Responses that continue one another, oldest first. */
async function chain(accountId: string, length: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < length; index++) {
    const said = [text(`a${index}`), finish('stop' as const)];
    const { id } = await keep(accountId, { input: `q${index}`, previousId: ids.at(-1), said });
    ids.push(id);
  }
  return ids;
}

describe('a conversation', () => {
  it('of fifty responses is read in its order', async () => {
    const accountId = newAccount();
    const ids = await chain(accountId, 50);

    const words = wordsOf(await continued(accountId, ids.at(-1) ?? ''));

    assert.deepEqual(
      words,
      Array.from({ length: 50 }, (_, index) => [`user: q${index}`, `assistant: a${index}`]).flat(),
    );
    assert.equal(wordsOf(await continued(accountId, ids[9] ?? '')).length, 20);
  });

  it('ends when a response in it is deleted or expired', async () => {
    const accountId = newAccount();
    const [first = '', second = '', third = ''] = await chain(accountId, 3);

    await deleteResponse(database, accountId, second, AT_ONCE);

    await assert.rejects(continued(accountId, third), isNotFound);
    await assert.rejects(continued(accountId, second), isNotFound);
    assert.equal((await continued(accountId, first)).conversation.length, 2);

    const old = await keep(accountId, { now: NOW - 29 * DAY_MS });
    const young = await keep(accountId, { previousId: old.id });
    assert.equal((await continued(accountId, young.id)).conversation.length, 4);
    await assert.rejects(continued(accountId, young.id, { now: NOW + 2 * DAY_MS }), isNotFound);
  });

  it('omits a call that was truncated, which no client can have answered', async () => {
    const accountId = newAccount();
    const { id } = await keep(accountId, {
      said: [call(0, 'f'), args(0, '{}'), call(1, 'g'), args(1, '{"a'), finish('length')],
    });

    const { conversation } = await continued(accountId, id);

    assert.deepEqual(
      conversation.map((item) => (item.type === 'function_call' ? item.name : item.type)),
      ['message', 'f'],
    );
  });

  it('is limited to five hundred responses and sixteen megabytes', async () => {
    const isTooLong = (error: unknown): boolean =>
      error instanceof InvalidTextRequest &&
      error.param === 'previous_response_id' &&
      error.code === 'context_length_exceeded';
    const accountId = newAccount();
    const ids = await chain(accountId, MAX_CHAIN.responses + 1);
    assert.equal((await continued(accountId, ids.at(-2) ?? '')).conversation.length, 2 * MAX_CHAIN.responses);
    await assert.rejects(continued(accountId, ids.at(-1) ?? ''), isTooLong);

    const big = 'x'.repeat(6_000_000);
    const first = await keep(accountId, { input: big });
    const second = await keep(accountId, { input: big, previousId: first.id });
    const third = await keep(accountId, { input: big, previousId: second.id });
    assert.equal((await continued(accountId, second.id)).conversation.length, 4);
    await assert.rejects(continued(accountId, third.id), isTooLong);
  });

  it('accepts items by reference from any stored response of the account', async () => {
    const accountId = newAccount();
    const { id } = await keep(accountId, { input: 'q', said: [text('a'), finish('stop')] });
    const tail = id.slice('resp_'.length);
    const itemIds = [`msg_${tail}_0`, `msg_${tail}_i0`, `msg_${tail}_7`, 'msg_elsewhere', 'rs_unknown_0', 'x\u0000_0'];
    const reference = { previousResponseId: undefined, itemIds, now: NOW, wait: NO_WAIT };

    const { conversation, referenced } = await readConversation(database, accountId, reference);

    assert.deepEqual(conversation, []);
    assert.deepEqual([...referenced.keys()].toSorted(), [`msg_${tail}_0`, `msg_${tail}_i0`]);
    assert.equal((await readConversation(database, newAccount(), reference)).referenced.size, 0);
  });

  it('reads each item in it once', async () => {
    const statements: string[] = [];
    const observed = await createTestDatabase((name) => statements.push(name));
    try {
      const input = decode({ model: 'm', input: 'q' }).input;
      await saveResponse(observed.database, {
        id: 'resp_a',
        accountId: 'acc',
        previousId: undefined,
        now: NOW,
        response: { id: 'resp_a', output: [] },
        input,
      });
      statements.length = 0;

      await readConversation(observed.database, 'acc', {
        previousResponseId: 'resp_a',
        itemIds: ['msg_a_i0'],
        now: NOW,
      });

      assert.deepEqual(statements, ['select_text_response_chain']);
    } finally {
      await observed.close();
    }
  });
});

/**
 * The flow of one text call, with the client disconnecting at each of its stages: which upstream requests are made,
 * and what is charged.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, it } from 'node:test';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createTextAnswers } from '../../src/text/answer.ts';
import { countEach } from '../../src/text/tokens.ts';
import type { DecodedTextCall, TextAnswers } from '../../src/text/answer.ts';
import { createChatEncoder } from '../../src/text/chat/encode-answer.ts';
import { CHAT_PARAMETERS } from '../../src/text/features.ts';
import { TextFailure } from '../../src/text/text-failure.ts';
import type { TextLedger } from '../../src/text/money/text-ledger.ts';
import type { TextSource } from '../../src/text/source.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { openTextProcess, readTextCall } from './money/text-processes.ts';
import type { TextProcess } from './money/text-processes.ts';
import { MODEL_NAME, chatCall, textModel } from './upstream/upstream-bench.ts';

let room: TaskRoom;
let process: TextProcess;
before(async () => {
  room = await openTaskRoom();
  process = await openTextProcess(room);
});
after(async () => {
  await process.close();
  await room.close();
});

/** The dependencies of a call: a source of answers, and what differs from the defaults. */
async function newCall(
  source: TextSource,
  changes: { readonly ledger?: TextLedger; readonly spent?: number[] } = {},
): Promise<{ readonly answers: TextAnswers; readonly ask: DecodedTextCall }> {
  const answers = createTextAnswers({
    source,
    threads: { countInput: (_, requests, limit) => countEach(requests, limit) },
    ledger: changes.ledger ?? process.ledger,
    rateLimiter: {
      take: () => Promise.resolve(0),
      spend: (_, tokens) => changes.spent?.push(tokens),
      spendLocally: () => undefined,
      giveBack: () => undefined,
      state: () => ({ limit: 1, remaining: 1, resetAt: 0 }),
    },
    metrics: createMetrics().text,
    logger: silentLogger(),
    now: Date.now,
  });
  const call = await chatCall(textModel([]));
  const id = `chatcmpl-${randomBytes(12).toString('hex')}`;
  const encoding = { id, model: MODEL_NAME, choices: 1, includesUsage: false };
  const ask: DecodedTextCall = {
    ...call,
    id,
    parameters: CHAT_PARAMETERS,
    isStored: false,
    encoder: (created) => createChatEncoder({ ...encoding, created }),
    problemOf: () => assert.fail('no error was expected in a stream'),
  };
  return { answers, ask };
}

/**
 * Makes a call whose client disconnects at a stage. @returns how many upstream requests were made, and what was
 * captured.
 */
async function goneAt(turn: 'held' | 'asked'): Promise<{ asked: number; captured: bigint | null | undefined }> {
  const caller = await room.newCaller();
  const controller = new AbortController();
  let asked = 0;
  const source: TextSource = {
    open: (_call, signal) => {
      if (!signal.aborted) asked += 1;
      if (turn === 'asked') controller.abort();
      return Promise.reject(new TextFailure('interrupted', 'the call was cancelled'));
    },
  };
  const ledger: TextLedger = {
    ...process.ledger,
    async hold(call) {
      await process.ledger.hold(call);
      if (turn === 'held') controller.abort();
    },
  };
  const { answers, ask } = await newCall(source, { ledger });

  await assert.rejects(answers.answer(caller, ask, controller), TextFailure);

  await ledger.flush();
  return { asked, captured: (await readTextCall(room, ask.id))?.captured_micro_usd };
}

it('a client that disconnects during the hold causes no upstream call, and pays nothing', async () => {
  assert.deepEqual(await goneAt('held'), { asked: 0, captured: 0n });
});

it('one that disconnects after the upstream call began pays the input as counted', async () => {
  const { asked, captured } = await goneAt('asked');

  assert.equal(asked, 1);
  assert.ok(captured != null && captured > 0n, `captured ${captured}`);
});

it('an absurd report is not taken from the rate limit', async () => {
  const spent: number[] = [];
  const source: TextSource = {
    open: ({ tally }) => {
      tally.report({ inputTokens: 5, cachedInputTokens: 0, outputTokens: 9e15, reasoningTokens: 0 });
      return Promise.resolve({ kind: 'body', body: {} });
    },
  };
  const { answers, ask } = await newCall(source, { spent });

  await answers.answer(await room.newCaller(), ask, new AbortController());

  assert.deepEqual(spent, [0]);
});

/** The invariants over handmade logs: a good campaign violates none, and each bad one exactly the one it should. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Evidence } from '../evidence.ts';
import type { ClientLine, TaskAnswer } from '../records.ts';
import type { ProbedPeriod } from '../trials/trial.ts';
import { INVARIANTS, checkInvariants } from './invariants.ts';

const SECRET = 'a-secret-of-the-account';
const MADE = { bytes: 7, sha256: 'ab'.repeat(32) };

const task: TaskAnswer = {
  taskId: 'tk-svc-1',
  model: 'chaos/keyed',
  status: 'success',
  created: 10,
  completed: 13,
  metadata: { marker: 'marker-ada-1-' },
  output: [{ id: 'out_1', url: 'http://x/1', type: 'image', sizeBytes: MADE.bytes, sha256: MADE.sha256 }],
  billing: { held: '0.03', captured: '0.03', released: '0' },
  callback: { state: 'delivered', attempts: 1 },
};
const failed: TaskAnswer = {
  taskId: 'tk-svc-2',
  model: 'chaos/keyed',
  status: 'fail',
  created: 10,
  completed: 14,
  metadata: { marker: 'marker-ada-2-' },
  error: { code: 'TASK_FAILED', reason: 'provider_error', message: 'it failed' },
  billing: { held: '0.03', captured: '0', released: '0.03' },
};

const OK = { kind: 'answer', status: 200, errorCode: '' } as const;
/** A streamed text call that was accepted; each case defines how it ended. */
const TEXT_STREAM = {
  kind: 'text',
  account: 'ada',
  marker: 'm',
  isStream: true,
  begun: 1,
  ended: 2,
  outcome: OK,
} as const;
const wish = { account: 'ada', model: 'chaos/keyed', prompt: 'a lake' };

function read(of: TaskAnswer, begun: number): ClientLine {
  return { kind: 'read', account: 'ada', taskId: of.taskId, begun, ended: begun + 1, outcome: OK, task: of };
}

function entry(
  kind: string,
  reference: string,
  amount: string,
): Evidence['accounts'] extends ReadonlyMap<string, infer A>
  ? A extends { ledger: readonly (infer E)[] }
    ? E
    : never
  : never {
  return { kind, reference, amount, available: '1', balance: '1' };
}

function callback(of: TaskAnswer): Evidence['receivers'][number] {
  const body = JSON.stringify(of);
  const hmac = (text: string, form: 'hex' | 'base64'): string => createHmac('sha256', SECRET).update(text).digest(form);
  const headers = {
    'x-darkroom-timestamp': '5',
    'x-darkroom-signature': hmac(`5.${body}`, 'hex'),
    'webhook-id': `msg_${of.taskId}`,
    'webhook-timestamp': '5',
    'webhook-signature': `v1,${hmac(`msg_${of.taskId}.5.${body}`, 'base64')}`,
  };
  return { kind: 'received', at: 5, run: 1, id: 1, path: '/ok', headers, body, mode: 'normal' };
}

const clients: readonly ClientLine[] = [
  {
    kind: 'create',
    ...wish,
    key: '1',
    marker: 'marker-ada-1-',
    callbackPath: '/ok',
    attempt: 0,
    api: 0,
    begun: 1,
    ended: 2,
    outcome: { kind: 'unknown', why: 'ECONNRESET' },
  },
  {
    kind: 'create',
    ...wish,
    key: '1',
    marker: 'marker-ada-1-',
    callbackPath: '/ok',
    attempt: 1,
    api: 1,
    begun: 3,
    ended: 4,
    outcome: OK,
    taskId: task.taskId,
    isReplay: true,
  },
  {
    kind: 'create',
    ...wish,
    key: '2',
    marker: 'marker-ada-2-',
    callbackPath: undefined,
    attempt: 0,
    api: 0,
    begun: 3,
    ended: 4,
    outcome: OK,
    taskId: failed.taskId,
  },
  read({ ...task, status: 'handling' }, 5),
  read(task, 10),
  {
    kind: 'text',
    account: 'ada',
    marker: 'm',
    isStream: true,
    begun: 1,
    ended: 2,
    outcome: OK,
    end: 'whole',
    responseId: 'chatcmpl-1',
    usage: { input: 20, output: 12 },
  },
];

/** A response in the background, and a batch of two lines: one was answered, and the other one is no request. */
const RESPONSE = {
  id: 'resp_1',
  status: 'completed',
  output: [],
  error: null,
  usage: { input_tokens: 20, output_tokens: 12 },
} as const;
const ANSWERED_LINE = {
  customId: 'marker-ada-5-0-0-',
  requestId: 'chatcmpl-2',
  status: 200,
  usage: { input: 20, output: 12 },
};
const WRONG_LINE = { customId: 'marker-ada-5-0-1-', requestId: 'batch_1_2', status: 400, errorCode: 'invalid_type' };
const BATCH = {
  batch: {
    id: 'batch_1',
    endpoint: '/v1/chat/completions',
    status: 'completed',
    request_counts: { total: 2, completed: 1, failed: 1 },
  },
  output: [ANSWERED_LINE],
  errors: [WRONG_LINE],
} as const;
const RESPONSE_READ = { kind: 'response', account: 'ada', responseId: RESPONSE.id, outcome: OK } as const;
const durable: readonly ClientLine[] = [
  {
    kind: 'background',
    account: 'ada',
    key: 'ada-4',
    marker: 'marker-ada-4-',
    prompt: 'marker-ada-4- say something',
    begun: 1,
    ended: 2,
    outcome: OK,
    responseId: RESPONSE.id,
  },
  { ...RESPONSE_READ, response: RESPONSE, begun: 10, ended: 11 },
  {
    kind: 'batch',
    account: 'ada',
    key: 'ada-5-0',
    endpoint: '/v1/chat/completions',
    fileId: 'file-1',
    markers: [ANSWERED_LINE.customId, WRONG_LINE.customId],
    begun: 1,
    ended: 2,
    outcome: OK,
    batchId: BATCH.batch.id,
  },
  {
    kind: 'batch-read',
    account: 'ada',
    batchId: BATCH.batch.id,
    status: 'completed',
    outcome: OK,
    begun: 10,
    ended: 11,
  },
];
const ASKED = { kind: 'text', state: 'asked' } as const;
const asked: Evidence['provider'] = [
  { ...ASKED, marker: 'marker-ada-4-', at: 5 },
  { ...ASKED, marker: ANSWERED_LINE.customId, at: 5 },
];

const NEIGHBOURS_TASK = { marker: 'm', isOurs: false, status: 'success', askedByOurs: [false] };

/** Other accounts' work: the given number of each kind, each of which took the given time. */
function period(tookMs: number, count: number, done = count): ProbedPeriod {
  const took = Array.from({ length: count }, () => tookMs);
  return {
    ms: 9_000,
    processorWaits: 0,
    took: { create: took, settlement: took, cancel: took },
    done: { create: done, settlement: done, cancel: done },
  };
}

function good(): Evidence {
  return {
    clients: [...clients, ...durable],
    provider: [
      ...asked,
      {
        kind: 'submit',
        at: 4,
        protocol: 'tasks',
        jobId: 'j1',
        idempotencyKey: task.taskId,
        prompt: 'marker-ada-1- a lake',
      },
      { kind: 'file', at: 4, jobId: 'j1', prompt: 'marker-ada-1- a lake', ...MADE },
      {
        kind: 'submit',
        at: 4,
        protocol: 'tasks',
        jobId: 'j2',
        idempotencyKey: failed.taskId,
        prompt: 'marker-ada-2- a lake',
      },
    ],
    receivers: [callback(task), { kind: 'answered', at: 5, run: 1, id: 1, status: 204 }],
    accounts: new Map([
      [
        'ada',
        {
          account: {
            balance: '9.96796',
            held: '0',
            available: '9.96796',
            usage: { runningTasks: 0, queuedTasks: 0, textStreams: 0 },
          },
          webhookSecret: SECRET,
          tasks: [task, failed],
          ledger: [
            entry('topup', 'topup_1', '10'),
            entry('hold', task.taskId, '0.03'),
            entry('hold', failed.taskId, '0.03'),
            entry('hold', 'chatcmpl-1', '0.002'),
            entry('capture', 'chatcmpl-1', '0.00068'),
            entry('release', 'chatcmpl-1', '0.00132'),
            entry('capture', task.taskId, '0.03'),
            entry('release', failed.taskId, '0.03'),
            ...['resp_1', 'chatcmpl-2'].flatMap((id) => [
              entry('hold', id, '0.002'),
              entry('capture', id, '0.00068'),
              entry('release', id, '0.00132'),
            ]),
          ],
          batches: [BATCH],
          responses: new Map([[RESPONSE.id, RESPONSE]]),
        },
      ],
    ]),
    callbacks: new Map([[task.taskId, { state: 'delivered', attempts: [{ attempt: 1, status: 204 }] }]]),
    callbackAttemptsAtMost: 5,
    downloads: [
      { kind: 'download', taskId: task.taskId, outputId: 'out_1', begun: 20, ended: 21, outcome: OK, ...MADE },
    ],
    leftovers: [],
    ledgerErrors: [],
    connections: ['127.0.0.1:1'],
    allowedAddresses: ['127.0.0.1:1'],
    losses: [],
    unsettledTimes: [],
    interruptions: [],
    lostRequests: new Map(),
    waitedFor: new Map([['m', { id: 'chatcmpl-1', account: 'ada' }]]),
    trials: [
      { kind: 'waiting', what: 'a test', before: period(2_000, 6), during: period(3_000, 5) },
      { kind: 'deploy', taskIds: [task.taskId, failed.taskId] },
      { kind: 'neighbours', tasks: [NEIGHBOURS_TASK] },
    ],
  };
}

/** The same with a changed account as the only one. */
function withAccount(change: (account: NonNullable<ReturnType<Evidence['accounts']['get']>>) => object): Evidence {
  const evidence = good();
  const account = evidence.accounts.get('ada') ?? assert.fail();
  return { ...evidence, accounts: new Map([['ada', { ...account, ...change(account) }]]) };
}

function withLines(...lines: readonly ClientLine[]): Evidence {
  return { ...good(), clients: [...clients, ...durable, ...lines] };
}

const GONE = {
  kind: 'read',
  account: 'ada',
  taskId: task.taskId,
  outcome: { kind: 'answer', status: 404, errorCode: 'NOT_FOUND' },
} as const;

function submittedTwice(): Evidence {
  const evidence = good();
  return {
    ...evidence,
    provider: [
      ...evidence.provider,
      { kind: 'submit', at: 9, protocol: 'replicate', jobId: 'j9', prompt: 'marker-ada-1- a lake' },
    ],
  };
}

/** The same with other results of its batch. */
function withBatch(
  change: Partial<Evidence['accounts'] extends ReadonlyMap<string, infer A> ? A : never>['batches'],
): Evidence {
  return withAccount(() => ({ batches: change }));
}

/** The same with another request at the text upstream. */
function withRequest(marker: string, at: number): Evidence {
  const evidence = good();
  return { ...evidence, provider: [...evidence.provider, { ...ASKED, marker, at }] };
}

/** A campaign that lost commits from millisecond 40 to 50, and what may differ then. */
function afterLoss(): Evidence {
  const losses = [{ from: 40, until: 50, heardUntil: 50 }];
  const accept = { ...clients[1], marker: 'marker-ada-1-', begun: 44, ended: 45 } as ClientLine;
  const lines = [accept, read({ ...task, completed: 102 }, 46), { ...GONE, begun: 52, ended: 53 }];
  const evidence = good();
  return {
    ...evidence,
    clients: [
      ...clients.filter((line) => !('taskId' in line && line.taskId === task.taskId)),
      ...lines,
      { ...accept, begun: 54, ended: 55 },
      read({ ...task, status: 'queued' }, 56),
      read(task, 60),
    ],
    provider: evidence.provider.map((line) => ({ ...line, at: 45 })),
    losses,
  };
}

/** What goes wrong, and the beginning of the invariant that must find it. */
const BAD: readonly (readonly [what: string, invariant: string, evidence: () => Evidence])[] = [
  [
    'an accepted task that no one knows any more',
    'every accepted task ends',
    () =>
      withLines({
        kind: 'create',
        ...wish,
        key: '3',
        marker: 'marker-ada-3-',
        callbackPath: undefined,
        attempt: 0,
        api: 0,
        begun: 3,
        ended: 4,
        outcome: OK,
        taskId: 'tk-svc-3',
      }),
  ],
  [
    'a task that is not over',
    'every accepted task ends',
    () =>
      withAccount(({ tasks }) => ({
        tasks: tasks.map((each) => (each === failed ? { ...each, status: 'queued' } : each)),
      })),
  ],
  [
    'a plain task that failed when all was healed',
    'when all is healed',
    () =>
      withLines({
        kind: 'create',
        ...wish,
        key: '9',
        marker: 'marker-once-more-ada-0-',
        callbackPath: undefined,
        attempt: 0,
        api: 0,
        begun: 3,
        ended: 4,
        outcome: OK,
        taskId: failed.taskId,
      }),
  ],
  [
    'a terminal answer that changed',
    'a terminal answer never changes',
    () => withLines(read({ ...task, completed: 102 }, 20)),
  ],
  [
    'a status that went back',
    'observed statuses only move forward',
    () => withLines(read({ ...task, status: 'queued' }, 7)),
  ],
  [
    'two tasks for a key',
    'one task per account and key',
    () =>
      withLines({
        kind: 'create',
        ...wish,
        key: '1',
        marker: 'marker-ada-1-',
        callbackPath: undefined,
        attempt: 2,
        api: 0,
        begun: 5,
        ended: 6,
        outcome: OK,
        taskId: failed.taskId,
      }),
  ],
  ['two jobs for a task', 'one provider submit chain', submittedTwice],
  [
    'a task that is not found although nothing was lost',
    'an accepted task is not found only',
    () => withLines({ ...GONE, begun: 20, ended: 21 }),
  ],
  [
    'a task that is not found although it was accepted before anything was lost',
    'an accepted task is not found only',
    () => ({
      ...withLines({ ...GONE, begun: 60, ended: 61 }),
      losses: [{ from: 40, until: 50, heardUntil: 50 }],
    }),
  ],
  [
    'a success that was announced and lost, and is a failure now',
    'what was announced as a success',
    () => ({
      ...withLines(read({ ...failed, status: 'success' }, 45)),
      losses: [{ from: 40, until: 50, heardUntil: 50 }],
    }),
  ],
  [
    'a second submit after a loss that no worker died in',
    'one provider submit chain',
    () => ({ ...submittedTwice(), losses: [{ from: 3, until: 8, heardUntil: 8 }] }),
  ],
  [
    'a task that was settled twice',
    'one hold and one settlement',
    () => withAccount(({ ledger }) => ({ ledger: [...ledger, entry('release', task.taskId, '0.03')] })),
  ],
  [
    'a failed task that was charged',
    'captured is at most what was held',
    () =>
      withAccount(({ ledger }) => ({
        ledger: [
          ...ledger.filter(({ reference }) => reference !== failed.taskId),
          entry('hold', failed.taskId, '0.03'),
          entry('capture', failed.taskId, '0.03'),
        ],
      })),
  ],
  [
    'money that is gone',
    'topups + adjustments',
    () => withAccount(({ account }) => ({ account: { ...account, available: '9.9' } })),
  ],
  [
    'money that is held for nothing',
    'topups + adjustments',
    () => withAccount(({ account }) => ({ account: { ...account, available: '9.93932', held: '0.03' } })),
  ],
  [
    'what the verification of the ledger finds',
    'topups + adjustments',
    () => ({ ...good(), ledgerErrors: ['a rule'] }),
  ],
  [
    'a negative balance',
    'available is never negative',
    () => withLines({ kind: 'balance', account: 'ada', begun: 1, ended: 2, outcome: OK, available: '-0.01' }),
  ],
  [
    'bytes that no one made',
    'every success output downloads',
    () => {
      const evidence = good();
      return { ...evidence, provider: evidence.provider.filter(({ kind }) => kind !== 'file') };
    },
  ],
  [
    'a download that is cut',
    'every success output downloads',
    () =>
      withLines({
        kind: 'download',
        taskId: task.taskId,
        outputId: 'out_1',
        begun: 8,
        ended: 9,
        outcome: OK,
        bytes: 3,
        sha256: 'cd'.repeat(32),
      }),
  ],
  ['an output that cannot be had', 'every success output downloads', () => ({ ...good(), downloads: [] })],
  [
    'a delivery that the receiver rejected',
    'every callback is delivered',
    () => ({
      ...good(),
      receivers: [callback(task), { kind: 'answered', at: 5, run: 1, id: 1, status: 500 }],
    }),
  ],
  [
    'a callback that is given up too early',
    'every callback is delivered',
    () => ({
      ...good(),
      callbacks: new Map([[task.taskId, { state: 'exhausted', attempts: [{ attempt: 1, status: 500 }] }]]),
    }),
  ],
  [
    'a callback that came more often than is recorded',
    'a receiver never sees more',
    () => {
      const evidence = good();
      return { ...evidence, receivers: [...evidence.receivers, callback(task)] };
    },
  ],
  [
    'a body that was altered',
    'every callback verifies',
    () => {
      const { headers } = callback(task) as { headers: object };
      const altered = {
        ...callback(task),
        headers: { ...headers, 'x-darkroom-signature': 'ab' },
      } as Evidence['receivers'][number];
      return { ...good(), receivers: [altered, { kind: 'answered', at: 5, run: 1, id: 1, status: 204 }] };
    },
  ],
  [
    'a body that says something else than GET',
    'every callback verifies',
    () => ({
      ...good(),
      receivers: [callback({ ...task, completed: 99 }), { kind: 'answered', at: 5, run: 1, id: 1, status: 204 }],
    }),
  ],
  [
    'a stream that just stops',
    'a text stream never just stops',
    () =>
      withLines({
        ...TEXT_STREAM,
        end: 'silent',
      }),
  ],
  [
    'a text call that was charged otherwise',
    'a text stream never just stops',
    () =>
      withLines({
        ...TEXT_STREAM,
        end: 'whole',
        responseId: 'chatcmpl-1',
        usage: { input: 21, output: 12 },
      }),
  ],
  [
    'accounts that wait for another, on a fast machine',
    'no account waits for another',
    () => ({
      ...good(),
      trials: [{ kind: 'waiting', what: 'a test', before: period(2_000, 6), during: period(8_900, 6, 6) }],
    }),
  ],
  [
    'accounts that wait for another, on a machine on which all takes long',
    'no account waits for another',
    () => ({
      ...good(),
      trials: [{ kind: 'waiting', what: 'a test', before: period(5_000, 6), during: period(8_900, 6, 0) }],
    }),
  ],
  [
    'a generation that a deploy lost',
    'a deploy loses no generation',
    () =>
      withAccount(({ tasks }) => ({
        tasks: tasks.map((each) =>
          each === failed ? { ...each, error: { code: 'TASK_FAILED', reason: 'outcome_unknown', message: '' } } : each,
        ),
      })),
  ],
  [
    'an output that expired in a campaign of minutes',
    'nothing is stamped, charged, expired',
    () =>
      withAccount(({ tasks }) => ({
        tasks: tasks.map((each) =>
          each === task
            ? { ...each, output: [], outputGone: [{ id: 'out_1', type: 'image', reason: 'expired' }] }
            : each,
        ),
      })),
  ],
  [
    'an output that is kept for a month too long',
    'nothing is stamped, charged, expired',
    () =>
      withAccount(({ tasks }) => ({
        tasks: tasks.map((each) =>
          each === task
            ? { ...each, output: task.output?.map((output) => ({ ...output, retainUntil: 13 + 37 * 86_400 })) }
            : each,
        ),
      })),
  ],
  [
    'storage that is charged for a day that is not over',
    'nothing is stamped, charged, expired',
    () => withAccount(({ ledger }) => ({ ledger: [...ledger, entry('capture', 'storage:acct_1:1970-01-02', '0')] })),
  ],
  [
    'a task that was created next month',
    'nothing is stamped, charged, expired',
    () =>
      withAccount(({ tasks }) => ({
        tasks: tasks.map((each) => (each === failed ? { ...each, created: 30 * 86_400 } : each)),
      })),
  ],
  [
    'a task that another installation did',
    'of two installations',
    () => ({
      ...good(),
      trials: [{ kind: 'neighbours', tasks: [{ ...NEIGHBOURS_TASK, askedByOurs: [false, true] }] }],
    }),
  ],
  [
    'a task that another installation took and could not do',
    'of two installations',
    () => ({
      ...good(),
      trials: [{ kind: 'neighbours', tasks: [{ ...NEIGHBOURS_TASK, status: 'queued', askedByOurs: [] }] }],
    }),
  ],
  [
    'a response that is not over',
    'every response in the background ends',
    () => withAccount(() => ({ responses: new Map([[RESPONSE.id, { ...RESPONSE, status: 'queued' }]]) })),
  ],
  [
    'a response that no one knows any more',
    'every response in the background ends',
    () => withAccount(() => ({ responses: new Map([[RESPONSE.id, undefined]]) })),
  ],
  [
    'a response that changed after its end',
    'every response in the background ends',
    () => withLines({ ...RESPONSE_READ, response: { ...RESPONSE, status: 'failed' }, begun: 12, ended: 13 }),
  ],
  [
    'a response that was not found although nothing was lost',
    'every response in the background ends',
    () => withLines({ ...RESPONSE_READ, outcome: { ...OK, status: 404 }, begun: 12, ended: 13 }),
  ],
  [
    'two responses for a key',
    'every response in the background ends',
    () => withLines({ ...(durable[0] as ClientLine & { kind: 'background' }), responseId: 'resp_2' }),
  ],
  [
    'a batch that is not over',
    'every batch ends',
    () => withBatch([{ ...BATCH, batch: { ...BATCH.batch, status: 'finalizing' } }]),
  ],
  ['a batch that no one knows any more', 'every batch ends', () => withBatch([])],
  [
    'a line that is answered twice',
    'every batch ends',
    () => withBatch([{ ...BATCH, output: [ANSWERED_LINE, ANSWERED_LINE] }]),
  ],
  [
    'a line with an answer and an error',
    'every batch ends',
    () => withBatch([{ ...BATCH, errors: [WRONG_LINE, { ...WRONG_LINE, customId: ANSWERED_LINE.customId }] }]),
  ],
  ['a line without a result', 'every batch ends', () => withBatch([{ ...BATCH, errors: [] }])],
  [
    'a line that failed because its account was suspended',
    'no line of a batch fails',
    () => withBatch([{ ...BATCH, errors: [{ ...WRONG_LINE, status: 403, errorCode: 'account_suspended' }] }]),
  ],
  [
    'a line that was charged without an answer',
    'a response in the background and a line pay',
    () => withBatch([{ ...BATCH, output: [], errors: [WRONG_LINE, { ...ANSWERED_LINE, status: 503 }] }]),
  ],
  [
    'a response that was charged otherwise',
    'a response in the background and a line pay',
    () =>
      withAccount(() => ({
        responses: new Map([[RESPONSE.id, { ...RESPONSE, usage: { input_tokens: 21, output_tokens: 12 } }]]),
      })),
  ],
  [
    'a request that is neither paid nor recorded',
    'requests at the text upstream',
    () => ({ ...withRequest('marker-ada-4-', 8), interruptions: [{ from: 6, until: 7 }] }),
  ],
  [
    'a second request for a client that waits, of which nothing is recorded',
    'requests at the text upstream',
    () => ({
      ...good(),
      provider: [...good().provider, { ...ASKED, marker: 'm', at: 5 }, { ...ASKED, marker: 'm', at: 6 }],
    }),
  ],
  [
    'a loss of a request that never came, although nothing was in its way',
    'requests at the text upstream',
    () => ({ ...good(), lostRequests: new Map([['chatcmpl-2', 1]]) }),
  ],
  [
    'a request that was sent twice although nothing interrupted it',
    'a text call that no connection waits for is sent again',
    () => ({ ...withRequest(ANSWERED_LINE.customId, 8), lostRequests: new Map([['chatcmpl-2', 1]]) }),
  ],
  ['an object that nothing names', 'no orphans', () => ({ ...good(), leftovers: ['an object'] })],
  [
    'a slot that was not given back',
    'no orphans',
    () => withAccount(({ account }) => ({ account: { ...account, usage: { ...account.usage, runningTasks: 1 } } })),
  ],
  ['a connection to another address', 'no outgoing connection', () => ({ ...good(), connections: ['127.0.0.1:2'] })],
  [
    'a visitor at the forbidden address',
    'no outgoing connection',
    () => {
      const evidence = good();
      return { ...evidence, receivers: [...evidence.receivers, { kind: 'forbidden', at: 9 }] };
    },
  ],
];

describe('the invariants', () => {
  it('find nothing in a campaign in which all went well', () => {
    assert.deepEqual(checkInvariants(good()), []);
  });

  it('find nothing in what a loss of commits takes back and a client asks for again', () => {
    assert.deepEqual(checkInvariants(afterLoss()), []);
  });

  it('find nothing in a task that was lost, and that its client could not pay for any more', () => {
    const lost = {
      kind: 'create',
      ...wish,
      key: '3',
      marker: 'marker-ada-3-',
      callbackPath: '/ok/marker-ada-3-',
      attempt: 0,
      api: 0,
      begun: 44,
      ended: 45,
      outcome: OK,
    } as const;
    const unpaid = { ...lost, attempt: 1, begun: 54, ended: 55, outcome: { ...OK, status: 402 } } as const;
    const evidence = { ...withLines({ ...lost, taskId: 'tk-svc-3' }, unpaid), losses: afterLoss().losses };

    assert.deepEqual(checkInvariants(evidence), []);
  });

  it('find nothing in a response in the background that was lost, and that its client could not pay for any more', () => {
    const marker = 'marker-ada-9-';
    const lost = {
      kind: 'background',
      account: 'ada',
      key: 'ada-9',
      marker,
      prompt: `${marker} say something`,
      begun: 44,
      ended: 45,
      outcome: OK,
      responseId: 'resp_9',
    } as const;
    const { responseId: _, ...again } = lost;
    const unpaid = { ...again, begun: 54, ended: 55, outcome: { ...OK, status: 402 } } as const;
    const gone = new Map([
      [RESPONSE.id, RESPONSE],
      [lost.responseId, undefined],
    ]);
    const found = (...lines: readonly ClientLine[]) =>
      checkInvariants({
        ...withAccount(() => ({ responses: gone })),
        clients: withLines(...lines).clients,
        losses: afterLoss().losses,
      }).map(({ subject }) => subject);

    assert.deepEqual(found(lost, unpaid), []);
    assert.deepEqual(found(lost), [lost.responseId]);
  });

  it('accept an estimate for a text call only where its process was stopped before it could settle', () => {
    const estimated = (unsettledTimes: Evidence['unsettledTimes']): Evidence => ({
      ...withAccount(({ ledger }) => ({
        ledger: ledger.map((each) => {
          if (each.reference !== 'chatcmpl-1' || each.kind === 'hold') return each;
          return each.kind === 'capture'
            ? { ...each, amount: '0.0002', isEstimated: true }
            : { ...each, amount: '0.0018' };
        }),
      })),
      unsettledTimes,
    });

    const found = (unsettledTimes: Evidence['unsettledTimes']): number =>
      checkInvariants(estimated(unsettledTimes)).filter(({ invariant }) => invariant.startsWith('a text stream'))
        .length;
    assert.equal(found([{ from: 1, until: 2 }]), 0);
    assert.equal(found([{ from: 3, until: 4 }]), 1);
    assert.equal(found([]), 1);
  });

  it('find a second submit also where the first was sent while commits were lost', () => {
    const evidence = { ...submittedTwice(), losses: [{ from: 3, until: 8, heardUntil: 8 }] };

    assert.equal(checkInvariants(evidence).length, 1);
  });

  it('accept a second request of a text call that was interrupted, if the first is recorded', () => {
    const evidence = {
      ...withRequest('marker-ada-4-', 8),
      interruptions: [{ from: 6, until: 7 }],
      lostRequests: new Map([[RESPONSE.id, 1]]),
    };

    assert.deepEqual(checkInvariants(evidence), []);
  });

  for (const [what, invariant, evidence] of BAD) {
    it(`find ${what}`, () => {
      const found = checkInvariants(evidence());

      assert.ok(
        found.some((each) => each.invariant.startsWith(invariant)),
        JSON.stringify(found),
      );
    });
  }

  it('are each shown to find something', () => {
    const blind = INVARIANTS.filter(({ name }) => !BAD.some(([, beginning]) => name.startsWith(beginning)));

    assert.deepEqual(
      blind.map(({ name }) => name),
      [],
    );
  });
});

/**
 * One attempt to submit a task, in every combination of what an upstream answers, whether the submit may be repeated,
 * whether an earlier attempt left an intent, and whether the task is cancelled or reaches its deadline meanwhile
 * (docs/decisions/0004). Where an earlier attempt left the intent of a submit that may not be repeated, nothing is sent,
 * and one answer stands for all. What a row leaves is what the next attempt, or the settlement, goes by:
 *
 * - sent: how often each upstream has received the work in this attempt;
 * - generation: the recorded generation and the upstream that it names; without an intent, the work may be sent again;
 * - slots: the upstreams at which the task still counts as a job; rejections: those in its timeline;
 * - end: `accepted`; a failure that ends the task (`outcome_unknown!`); or one that is retried.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';
import { modelOf, parseTable, rowProviders, runRow } from './submit-rows.ts';
import type { Upstreams } from './submit-rows.ts';

interface Table {
  readonly name: string;
  readonly upstreams: Upstreams;
  /** The cancel and the deadline come before the attempt. */
  readonly isBefore?: boolean;
  readonly text: string;
}

/** The second upstream of a route with two accepts whatever it receives. */
const TABLES: readonly Table[] = [
  {
    name: 'to the first of two upstreams that do the work while they are asked',
    upstreams: { count: 2, areSynchronous: true },
    text: `
    answers   submit      intent  cancel     late  | sent  generation   slots  rejections  end
    rejected  once        -       -          -     | 1 1   produced@2   -      1           accepted
    rejected  once        -       -          late  | 1 0   -            1      1           deadline
    rejected  once        -       cancelled  -     | 1 0   -            1      1           cancellation
    rejected  once        -       cancelled  late  | 1 0   -            1      1           deadline
    failed    once        -       -          -     | 1 0   intent@1     -      0           content_rejected!
    failed    once        -       -          late  | 1 0   intent@1     1      0           deadline
    failed    once        -       cancelled  -     | 1 0   intent@1     1      0           cancellation
    failed    once        -       cancelled  late  | 1 0   intent@1     1      0           deadline
    unknown   once        -       -          -     | 1 0   intent@1     -      0           outcome_unknown!
    unknown   once        -       -          late  | 1 0   intent@1     1      0           deadline
    unknown   once        -       cancelled  -     | 1 0   intent@1     1      0           cancellation
    unknown   once        -       cancelled  late  | 1 0   intent@1     1      0           deadline
    unknown   once        intent  -          -     | 0 0   intent@1     -      0           outcome_unknown!
    unknown   once        intent  -          late  | 0 0   intent@1     1      0           deadline
    unknown   once        intent  cancelled  -     | 0 0   intent@1     1      0           cancellation
    unknown   once        intent  cancelled  late  | 0 0   intent@1     1      0           cancellation
    rejected  repeatable  -       -          -     | 1 1   produced@2   -      1           accepted
    rejected  repeatable  -       -          late  | 1 0   -            1      1           deadline
    rejected  repeatable  -       cancelled  -     | 1 0   -            1      1           cancellation
    rejected  repeatable  -       cancelled  late  | 1 0   -            1      1           deadline
    failed    repeatable  -       -          -     | 1 0   intent@1     -      0           content_rejected!
    failed    repeatable  -       -          late  | 1 0   intent@1     1      0           deadline
    failed    repeatable  -       cancelled  -     | 1 0   intent@1     1      0           cancellation
    failed    repeatable  -       cancelled  late  | 1 0   intent@1     1      0           deadline
    unknown   repeatable  -       -          -     | 1 0   intent@1     1      0           ProviderUnknown
    unknown   repeatable  -       -          late  | 1 0   intent@1     1      0           deadline
    unknown   repeatable  -       cancelled  -     | 1 0   intent@1     1      0           cancellation
    unknown   repeatable  -       cancelled  late  | 1 0   intent@1     1      0           deadline
    rejected  repeatable  intent  -          -     | 1 0   intent@1     -      1           provider_unavailable
    rejected  repeatable  intent  -          late  | 1 0   intent@1     1      1           deadline
    rejected  repeatable  intent  cancelled  -     | 1 0   intent@1     1      1           cancellation
    rejected  repeatable  intent  cancelled  late  | 1 0   intent@1     1      1           deadline
    failed    repeatable  intent  -          -     | 1 0   intent@1     -      0           content_rejected!
    failed    repeatable  intent  -          late  | 1 0   intent@1     1      0           deadline
    failed    repeatable  intent  cancelled  -     | 1 0   intent@1     1      0           cancellation
    failed    repeatable  intent  cancelled  late  | 1 0   intent@1     1      0           deadline
    unknown   repeatable  intent  -          -     | 1 0   intent@1     1      0           ProviderUnknown
    unknown   repeatable  intent  -          late  | 1 0   intent@1     1      0           deadline
    unknown   repeatable  intent  cancelled  -     | 1 0   intent@1     1      0           cancellation
    unknown   repeatable  intent  cancelled  late  | 1 0   intent@1     1      0           deadline
`,
  },
  {
    name: 'to the only upstream, which creates a job',
    upstreams: { count: 1, areSynchronous: false },
    text: `
    answers   submit      intent  cancel     late  | sent  generation   slots  rejections  end
    rejected  once        -       -          -     | 1     -            -      1           provider_unavailable
    rejected  once        -       -          late  | 1     -            1      1           deadline
    rejected  once        -       cancelled  -     | 1     -            -      1           provider_unavailable
    rejected  once        -       cancelled  late  | 1     -            1      1           deadline
    failed    once        -       -          -     | 1     intent@1     -      0           content_rejected!
    failed    once        -       -          late  | 1     intent@1     1      0           deadline
    failed    once        -       cancelled  -     | 1     intent@1     -      0           content_rejected!
    failed    once        -       cancelled  late  | 1     intent@1     1      0           deadline
    unknown   once        -       -          -     | 1     intent@1     -      0           outcome_unknown!
    unknown   once        -       -          late  | 1     intent@1     1      0           deadline
    unknown   once        -       cancelled  -     | 1     intent@1     -      0           outcome_unknown!
    unknown   once        -       cancelled  late  | 1     intent@1     1      0           deadline
    unknown   once        intent  -          -     | 0     intent@1     -      0           outcome_unknown!
    unknown   once        intent  -          late  | 0     intent@1     1      0           deadline
    unknown   once        intent  cancelled  -     | 0     intent@1     1      0           cancellation
    unknown   once        intent  cancelled  late  | 0     intent@1     1      0           cancellation
    rejected  repeatable  -       -          -     | 1     -            -      1           provider_unavailable
    rejected  repeatable  -       -          late  | 1     -            1      1           deadline
    rejected  repeatable  -       cancelled  -     | 1     -            -      1           provider_unavailable
    rejected  repeatable  -       cancelled  late  | 1     -            1      1           deadline
    failed    repeatable  -       -          -     | 1     -            -      0           content_rejected!
    failed    repeatable  -       -          late  | 1     -            1      0           deadline
    failed    repeatable  -       cancelled  -     | 1     -            -      0           content_rejected!
    failed    repeatable  -       cancelled  late  | 1     -            1      0           deadline
    unknown   repeatable  -       -          -     | 1     intent@1     1      0           ProviderUnknown
    unknown   repeatable  -       -          late  | 1     intent@1     1      0           deadline
    unknown   repeatable  -       cancelled  -     | 1     intent@1     1      0           ProviderUnknown
    unknown   repeatable  -       cancelled  late  | 1     intent@1     1      0           deadline
    rejected  repeatable  intent  -          -     | 1     intent@1     -      1           provider_unavailable
    rejected  repeatable  intent  -          late  | 1     intent@1     1      1           deadline
    rejected  repeatable  intent  cancelled  -     | 1     intent@1     -      1           provider_unavailable
    rejected  repeatable  intent  cancelled  late  | 1     intent@1     1      1           deadline
    failed    repeatable  intent  -          -     | 1     intent@1     -      0           content_rejected!
    failed    repeatable  intent  -          late  | 1     intent@1     1      0           deadline
    failed    repeatable  intent  cancelled  -     | 1     intent@1     -      0           content_rejected!
    failed    repeatable  intent  cancelled  late  | 1     intent@1     1      0           deadline
    unknown   repeatable  intent  -          -     | 1     intent@1     1      0           ProviderUnknown
    unknown   repeatable  intent  -          late  | 1     intent@1     1      0           deadline
    unknown   repeatable  intent  cancelled  -     | 1     intent@1     1      0           ProviderUnknown
    unknown   repeatable  intent  cancelled  late  | 1     intent@1     1      0           deadline
`,
  },
  {
    name: 'that comes too late',
    upstreams: { count: 2, areSynchronous: true },
    isBefore: true,
    text: `
    answers   submit      intent  cancel     late  | sent  generation   slots  rejections  end
    unknown   once        -       -          late  | 0 0   -            -      0           deadline
    unknown   once        -       cancelled  -     | 0 0   -            -      0           cancelled!
    unknown   once        -       cancelled  late  | 0 0   -            -      0           cancelled!
    unknown   once        intent  -          late  | 0 0   intent@1     1      0           deadline
    unknown   once        intent  cancelled  -     | 0 0   intent@1     1      0           cancelled!
    unknown   once        intent  cancelled  late  | 0 0   intent@1     1      0           cancelled!
    unknown   repeatable  -       -          late  | 0 0   -            -      0           deadline
    unknown   repeatable  -       cancelled  -     | 0 0   -            -      0           cancelled!
    unknown   repeatable  -       cancelled  late  | 0 0   -            -      0           cancelled!
    unknown   repeatable  intent  -          late  | 0 0   intent@1     1      0           deadline
    unknown   repeatable  intent  cancelled  -     | 0 0   intent@1     1      0           cancelled!
    unknown   repeatable  intent  cancelled  late  | 0 0   intent@1     1      0           cancelled!
`,
  },
];

const ROWS_AT_ONCE = 24;

let room: TaskRoom;
let bench: GenerationBench;
const { byProtocol, scripts } = rowProviders();
const tables = TABLES.map(({ text, ...table }, number) => ({
  ...table,
  rows: parseTable(text, table.isBefore).map((row, position) => ({ ...row, model: `acme/row-${number}-${position}` })),
}));
before(async () => {
  const models = tables.flatMap(({ rows, upstreams }) => rows.map(({ model, row }) => modelOf(model, row, upstreams)));
  room = await openTaskRoom(undefined, { models });
  await createPinnedDefinitions(room.database).pin(models);
  bench = openGenerationBench(room, byProtocol);
});
after(async () => {
  await bench.close();
  await room.close();
});

for (const { name, upstreams, rows } of tables) {
  describe(`a submit ${name}`, { concurrency: ROWS_AT_ONCE }, () => {
    for (const { title, row, left, model } of rows) {
      it(title, async () => {
        assert.deepEqual(await runRow(room, bench.context, scripts, { model, row, upstreams }), left);
      });
    }
  });
}

describe('a start that arrives after its task was cancelled', () => {
  for (const isUpstream of [true, false]) {
    it(`submits nothing to ${isUpstream ? 'an upstream' : 'an engine'}, and exits`, async () => {
      const caller = await room.newCaller();
      const { taskId } = await room.creator.create(caller, body(), undefined);
      await claimOutbox(room.database, 1_000);
      await cancelTask(room.database, caller.accountId, taskId, 7);
      const provider = scriptedProvider({ protocol: 'embedded' });
      const context = { ...bench.context, providers: new Map([['embedded', provider]]) };
      const facts = { accountId: caller.accountId, model: 'acme/images', handlingSeconds: 60, archivingSeconds: 60 };

      const result = await submitGeneration(context, newAttempt(), { taskId, isUpstream, ...facts });

      assert.deepEqual(result, { kind: 'over' });
      assert.equal(provider.sent(), 0);
      assert.equal((await readTask(room.database, taskId)).errorReason, 'cancelled');
    });
  }
});
